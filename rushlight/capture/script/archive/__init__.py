"""TorchScript archives: files of ``torch.jit.save`` as scripted Modules, and scripted Modules as such files.

In: a zip file with code as text, pickles and tensors.  Out: a `RecursiveScriptModule`, whose methods are graphs that the front end made of
the text; nothing of the file is executed.  ``reader.py`` reads a file: ``code_text.py`` finds its definitions, ``unpickling.py`` its objects, and
``compiler.py`` turns methods into steps, with ``operators.py`` and ``schema_calls.py`` for what serialized code calls.  ``writer.py`` writes one.
"""
