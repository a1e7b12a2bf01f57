// The seccomp filter, run by an interpreter of BPF: its verdict for each system call, on each processor. Real
// sandboxes: see backends.test.ts.

import { describe, expect, test } from "vitest";
import { knowsArchitecture, seccompProgram } from "./seccomp.ts";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (code: number): number => 0x00050000 + code;

interface Call {
  readonly number: number;
  readonly arch: number;
  readonly arguments?: readonly number[];
}

function run(program: Uint8Array, { number, arch, arguments: given = [] }: Call): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, arch, true);
  for (const [index, value] of given.entries()) data.setUint32(16 + index * 8, value, true);
  const view = new DataView(program.buffer);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8;) {
    const value = view.getUint32(at * 8 + 4, true);
    const jump = (holds: boolean): number => at + 1 + view.getUint8(at * 8 + (holds ? 2 : 3));
    switch (view.getUint16(at * 8, true)) {
      case 0x20:
        accumulator = data.getUint32(value, true);
        at += 1;
        break;
      case 0x15:
        at = jump(accumulator === value);
        break;
      case 0x35:
        at = jump(accumulator >= value);
        break;
      case 0x45:
        at = jump((accumulator & value) !== 0);
        break;
      case 0x54:
        accumulator &= value;
        at += 1;
        break;
      case 0x06:
        return value;
      default:
        throw new Error(`an instruction that was never written, at ${at}`);
    }
  }
  throw new Error("the program does not end");
}

function filter(arch: string, spawn = true): Uint8Array {
  const program = seccompProgram({ spawn, arch });
  if (program === undefined) throw new Error(`nothing for ${arch}`);
  return program;
}

describe.each([
  {
    ...{
      arch: "x64",
      audit: 0xc000003e,
      read: 0,
      ptrace: 101,
      unshare: 272,
      clone: 56,
      socket: 41,
      ioctl: 16,
    },
    ...{ socketpair: 53, personality: 135 },
  },
  {
    ...{ arch: "arm64", audit: 0xc00000b7, read: 63, ptrace: 117, unshare: 97, clone: 220, socket: 198 },
    ...{ ioctl: 29, socketpair: 199, personality: 92 },
  },
])(
  "the filter on $arch",
  ({ arch, audit, read, ptrace, unshare, clone, socket, socketpair, personality, ioctl }) => {
    const said = (number: number, given: number[] = [], spawn = true): number =>
      run(filter(arch, spawn), { number, arch: audit, arguments: given });

    test("allows normal system calls and refuses forbidden ones", () => {
      expect(said(read)).toBe(ALLOW);
      expect(said(ptrace)).toBe(errno(1));
      expect(said(unshare)).toBe(errno(1));
      expect(said(435)).toBe(errno(38));
    });

    test("allows new processes and refuses new namespaces", () => {
      expect(said(clone, [17])).toBe(ALLOW);
      expect(said(clone, [0x10000000 | 17])).toBe(errno(1));
      expect(said(clone, [0x00020000])).toBe(errno(1));
      expect(said(clone, [0x40000000])).toBe(errno(1));
    });

    test("allows only threads if spawn is false", () => {
      expect(said(clone, [17], false)).toBe(errno(1));
      expect(said(clone, [0x003d0f00], false)).toBe(ALLOW);
      expect(said(clone, [0x003d0f00 | 0x10000000], false)).toBe(errno(1));
      expect(said(read, [], false)).toBe(ALLOW);
    });

    test("allows only common kinds of sockets", () => {
      const [stream, datagram, raw, sequence, flags] = [1, 2, 3, 5, 0x80800];
      for (const kind of [stream, datagram, raw, sequence]) expect(said(socket, [1, kind])).toBe(ALLOW);
      for (const family of [2, 10])
        for (const kind of [stream, datagram])
          for (const protocol of [0, 6, 17])
            expect(said(socket, [family, kind | flags, protocol])).toBe(ALLOW);
      for (const kind of [raw, sequence, 6]) expect(said(socket, [2, kind | flags, 0])).toBe(errno(94));
      // MPTCP, SCTP, UDP-Lite, ICMP.
      for (const protocol of [262, 132, 136, 1]) expect(said(socket, [10, stream, protocol])).toBe(errno(93));
      for (const family of [17, 38, 40]) expect(said(socket, [family, stream])).toBe(errno(97));
      expect([said(socketpair, [1, stream]), said(socketpair, [30, stream])]).toEqual([ALLOW, errno(97)]);
    });

    test("allows netlink for interfaces and routes only", () => {
      expect(said(socket, [16, 3 | 0x80000, 0])).toBe(ALLOW);
      for (const protocol of [4, 6, 9, 12, 15, 16, 21])
        expect(said(socket, [16, 3, protocol])).toBe(errno(93));
    });

    test("refuses changes of the personality and memory that no limit counts", () => {
      expect(said(personality, [0xffffffff])).toBe(ALLOW);
      expect(said(personality, [0])).toBe(ALLOW);
      for (const other of [0x40000, 0x400000, 8]) expect(said(personality, [other])).toBe(errno(1));
      expect(said(447)).toBe(errno(38));
    });

    test("refuses to insert input into a terminal", () => {
      expect(said(ioctl, [0, 0x5401])).toBe(ALLOW);
      expect(said(ioctl, [0, 0x5412])).toBe(errno(1));
      expect(said(ioctl, [0, 0x541c])).toBe(errno(1));
    });

    test("kills a process that uses another architecture", () => {
      expect(run(filter(arch), { number: read, arch: 0x40000003 })).toBe(KILL);
    });
  },
);

test("x64: refuses the x32 calling convention, and allows fork only with spawn", () => {
  expect(run(filter("x64"), { number: 0x40000000, arch: 0xc000003e })).toBe(errno(1));
  expect(run(filter("x64"), { number: 0x40000000 + 520, arch: 0xc000003e })).toBe(errno(1));
  expect(run(filter("x64"), { number: 57, arch: 0xc000003e })).toBe(ALLOW);
  expect(run(filter("x64", false), { number: 57, arch: 0xc000003e })).toBe(errno(1));
  expect(run(filter("x64", false), { number: 58, arch: 0xc000003e })).toBe(errno(1));
});

test("there is no filter for an unknown processor", () => {
  expect(seccompProgram({ spawn: true, arch: "riscv64" })).toBeUndefined();
  expect(knowsArchitecture("riscv64")).toBe(false);
  expect(knowsArchitecture("x64")).toBe(true);
});
