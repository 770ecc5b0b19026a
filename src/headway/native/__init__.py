"""The native engine: a plan as C++17, the runtime library it is compiled with, and its loader."""
