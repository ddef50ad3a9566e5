// A command as a developer runs it: without the options that only write or format reports, and without the choice of a usual
// toolchain. An option goes together with its value.

export function plainCommand(words: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    const [, name, given] = /^(--?[a-z][\w.-]*)(=.*)?$/is.exec(word) ?? []
    const [, , values] =
      REPORTS.find(([programs, names]) => programs.test(words[0] ?? '') && names.test(name ?? '')) ?? []
    if (values === undefined) {
      kept.push(word)
      continue
    }
    const next = words[at + 1]
    if (given === undefined && next !== undefined && values.test(next)) at++
  }
  if (kept.at(-1) === '--') kept.pop()
  // Without rustup `+stable` cannot be read; a nightly is another compiler.
  if (/(^|\/)cargo$/.test(kept[0] ?? '') && /^\+(?:stable|beta|\d[\w.-]*)$/.test(kept[1] ?? '')) kept.splice(1, 1)
  return kept
}

/** Which next word is the value of an option: any but another option, or only one that says yes or no. */
const ANY = /^(?!-)/
const SWITCH = /^(?:true|false)$/
const EVERY_PROGRAM = /^/

const REPORTS: readonly (readonly [program: RegExp, option: RegExp, value: RegExp])[] = [
  [/(^|\/)go(?:testsum)?$/, /^--?(?:coverprofile|covermode|coverpkg|(?:junit|json)file)$/, ANY],
  [/(^|\/)go$/, /^--?cover$/, SWITCH],
  [/(^|\/)cargo$/, /^--message-format$/, ANY],
  [/(^|\/)golangci-lint$/, /^--(?:out-format|output\.[\w.-]+)$/, ANY],
  // `--cov` takes the next word as the source that is measured, even if a path of tests was meant.
  [EVERY_PROGRAM, /^--cov$/, ANY],
  [EVERY_PROGRAM, /^--cov-(?:append|branch)$|^--no-cov(?:-on-fail)?$/, SWITCH],
  [EVERY_PROGRAM, /^--cov-[\w-]+$|^--junit-?xml$|^--junit-prefix$/, ANY],
  [
    EVERY_PROGRAM,
    /^--coverage(?:\.(?:enabled|all|clean|skipFull))?$|^--(?:collectCoverage|experimental-test-coverage)$/,
    SWITCH,
  ],
  [
    EVERY_PROGRAM,
    /^--coverage(?:[.-][\w.-]+|[A-Z]\w*)$|^--collectCoverageFrom$|^--test-reporter(?:-destination)?$/,
    ANY,
  ],
  [/(^|\/)(?:phpunit|pest)$/, /^--log-[\w-]+$/, ANY],
]
