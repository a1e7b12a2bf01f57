// A command that writes its last argument.

process.stdout.write(process.argv.at(-1));
