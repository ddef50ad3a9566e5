// The system call filter of every process in a sandbox: a program for the kernel (classic BPF), passed to bubblewrap. It refuses calls that
// builds and tests do not need and that kernel exploits begin with. Tracing (`ptrace`) is allowed: debuggers and leak checkers need it, and
// process 1 is protected in another way (`launcher.ts`).

/** System call numbers on x86-64 and 64-bit ARM; null where the call does not exist. */
const REFUSED: { readonly [name: string]: readonly [x64: number, arm64: number | null] } = {
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  unshare: [272, 97],
  setns: [308, 268],
  open_by_handle_at: [304, 265],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  process_madvise: [440, 440],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  syslog: [103, 116],
  vhangup: [153, 58],
  iopl: [172, null],
  ioperm: [173, null],
}

/** Requests of `ioctl` that inject input into a terminal. */
const REFUSED_REQUESTS = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c } as const

interface Machine {
  /** The kernel's AUDIT_ARCH_… constant. */
  readonly architecture: number
  readonly ioctl: number
  readonly refused: readonly number[]
  /** The first number of a second interface (x32), where the same calls have other numbers; null if there is none. */
  readonly secondFrom: number | null
}

const MACHINES: { readonly [arch: string]: Machine } = {
  x64: {
    architecture: 0xc000003e,
    ioctl: 16,
    refused: Object.values(REFUSED).map(([number]) => number),
    secondFrom: 0x40000000,
  },
  arm64: {
    architecture: 0xc00000b7,
    ioctl: 29,
    refused: Object.values(REFUSED).flatMap(([, number]) => (number === null ? [] : [number])),
    secondFrom: null,
  },
}

const LOAD = 0x20
const IF_EQUAL = 0x15
const IF_AT_LEAST = 0x35
const RETURN = 0x06
const KILL = 0x80000000
const ALLOW = 0x7fff0000
const errno = (number: number): number => 0x00050000 | number
const EPERM = 1
const ENOSYS = 38

// Offsets in the kernel's data: the number of the call, the architecture, and the lower half of the second argument, which is all that
// `ioctl` uses of a request.
const CALL = 0
const ARCHITECTURE = 4
const REQUEST = 24

/** Null for a processor whose system call numbers are unknown; then there is no sandbox. */
export function syscallFilter(arch: string = process.arch): Buffer | null {
  const machine = MACHINES[arch]
  if (machine === undefined) return null
  const { architecture, ioctl, refused, secondFrom } = machine
  const unless = (code: number, value: number, otherwise: number) => [
    instruction(code, value, 0, 1),
    instruction(RETURN, otherwise),
  ]
  return Buffer.concat([
    instruction(LOAD, ARCHITECTURE),
    // 32-bit programs have other numbers, which this filter does not know, so they are killed.
    instruction(IF_EQUAL, architecture, 1, 0),
    instruction(RETURN, KILL),
    instruction(LOAD, CALL),
    ...(secondFrom === null ? [] : unless(IF_AT_LEAST, secondFrom, errno(ENOSYS))),
    ...refused.flatMap(number => unless(IF_EQUAL, number, errno(EPERM))),
    instruction(IF_EQUAL, ioctl, 1, 0),
    instruction(RETURN, ALLOW),
    instruction(LOAD, REQUEST),
    ...Object.values(REFUSED_REQUESTS).flatMap(request => unless(IF_EQUAL, request, errno(EPERM))),
    instruction(RETURN, ALLOW),
  ])
}

function instruction(code: number, value: number, ifTrue = 0, ifFalse = 0): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(ifTrue, 2)
  bytes.writeUInt8(ifFalse, 3)
  bytes.writeUInt32LE(value >>> 0, 4)
  return bytes
}
