// Parses the arguments of `docker run` and `podman run`: options, image, and arguments of the program inside.

export interface DockerOption {
  /** The long name, without dashes. */
  readonly name: string;
  /** Undefined for a switch. */
  readonly value: string | undefined;
  /** The words as they were written. */
  readonly text: string;
}

export interface DockerRun {
  readonly engine: "docker" | "podman";
  readonly options: readonly DockerOption[];
  readonly image: string;
  readonly args: readonly string[];
}

const SHORT_SWITCHES: Readonly<Record<string, string>> = {
  d: "detach",
  i: "interactive",
  P: "publish-all",
  q: "quiet",
  t: "tty",
};
const SHORT_VALUES: Readonly<Record<string, string>> = {
  a: "attach",
  c: "cpu-shares",
  e: "env",
  h: "hostname",
  l: "label",
  m: "memory",
  p: "publish",
  u: "user",
  v: "volume",
  w: "workdir",
};
const SWITCHES = new Set(
  `detach disable-content-trust init interactive no-healthcheck oom-kill-disable privileged publish-all quiet read-only
   rm sig-proxy tty use-api-socket env-host http-proxy no-hosts no-hostname passwd replace rmi tls-verify unsetenv-all
   read-only-tmpfs`.split(/\s+/),
);
const VALUES = new Set(
  `add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile
   cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems
   detach-keys device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns
   dns-opt dns-option dns-search domainname entrypoint env env-file expose gpus group-add health-cmd health-interval
   health-retries health-start-interval health-start-period health-timeout hostname io-maxbandwidth io-maxiops ip ip6
   ipc isolation kernel-memory label label-file link link-local-ip log-driver log-opt mac-address memory
   memory-reservation memory-swap memory-swappiness mount name net net-alias network network-alias oom-score-adj pid
   pids-limit platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl
   tmpfs ulimit user userns uts volume volume-driver volumes-from workdir
   arch authfile cgroups conmon-pidfile decryption-key env-merge gidmap group-entry hooks-dir hostuser image-volume
   init-path os passwd-entry personality pidfile pod pod-id-file preserve-fd preserve-fds rdt-class requires retry
   retry-delay rootfs sdnotify seccomp-policy secret shm-size-systemd subgidname subuidname systemd timeout tz uidmap
   umask unsetenv variant`.split(/\s+/),
);
/** Synonyms of option names. */
const SAME: Readonly<Record<string, string>> = { net: "network", "dns-option": "dns-opt" };

/** Returns the reason as a text if the arguments cannot be parsed with certainty. */
export function parseDockerRun(engine: DockerRun["engine"], words: readonly string[]): DockerRun | string {
  const options: DockerOption[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] as string;
    if (word === "--" || !word.startsWith("-") || word === "-") {
      const [image, ...args] = words.slice(word === "--" ? at + 1 : at);
      if (image === undefined || image === "") return "it names no image";
      // After `--`, an image that begins with a dash would be read as an option of Portolan's own command.
      return image.startsWith("-") ? `"${image}" is not an image` : { engine, options, image, args };
    }
    const read = word.startsWith("--") ? readLong(word) : readShort(word);
    if (typeof read === "string") return read;
    for (const { name, value, wants } of read) {
      const given = wants ? words[(at += 1)] : value;
      if (wants && given === undefined) return `"${word}" needs a value`;
      options.push({ name, value: given, text: wants ? `${word} ${given}` : word });
    }
  }
  return "it names no image";
}

interface Read {
  readonly name: string;
  readonly value?: string;
  /** The value is the next word. */
  readonly wants?: boolean;
}

function readLong(word: string): Read[] | string {
  const equals = word.indexOf("=");
  const written = word.slice(2, equals === -1 ? undefined : equals);
  const name = SAME[written] ?? written;
  const value = equals === -1 ? undefined : word.slice(equals + 1);
  if (SWITCHES.has(name)) {
    if (value === undefined || /^(?:1|t|true)$/i.test(value)) return [{ name }];
    // `--rm=false` equals no option.
    return /^(?:0|f|false)$/i.test(value) ? [] : `"${word}" is neither true nor false`;
  }
  if (!VALUES.has(name)) return `the option "--${written}" is not supported`;
  return value === undefined ? [{ name, wants: true }] : [{ name, value }];
}

/** `-it`, `-e NAME`, `-eNAME=x`, `-ie NAME`. */
function readShort(word: string): Read[] | string {
  const found: Read[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    const flag = SHORT_SWITCHES[letter];
    if (flag !== undefined && word.charAt(at + 1) !== "=") {
      found.push({ name: flag });
      continue;
    }
    const name = SHORT_VALUES[letter];
    if (name === undefined) return `the option "${word}" is not supported`;
    const value = word.slice(at + 1).replace(/^=/, "");
    found.push(value === "" ? { name, wants: true } : { name, value });
    return found;
  }
  return found;
}
