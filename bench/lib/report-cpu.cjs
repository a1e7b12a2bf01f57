// Preloaded with --require: reports on file descriptor 3 what this process has cost when it ends.

const { writeSync } = require("node:fs");

process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  writeSync(3, String((user + system) / 1000));
});
