// Finds the output line that explains a failed command, which is often not the last one: that may be a version, a notice or the path of a
// log.

/** The last line that looks like an error; else the last that is not noise. Null without output. */
export function errorLine(stderr: string, stdout = ''): string | null {
  const streams = [stderr, stdout].map(text => withoutNoise(linesOf(text)))
  const own = streams.map(lines => lines.filter(line => !WRAPPER.test(line)))
  const found = [...own.map(named), ...streams.map(named)].find(line => line !== undefined) ?? linesOf(stderr).at(-1)
  if (found === undefined) return linesOf(stdout).at(-1) ?? null
  return found.length > LINE_MAX ? `${found.slice(0, LINE_MAX)}…` : found
}

const named = (lines: readonly string[]): string | undefined =>
  lines.findLast(line => FAULT.test(line)) ?? lines.findLast(line => /[\p{L}\p{N}]/u.test(line)) ?? lines.at(-1)

/** Removes lines that say nothing about the command itself. */
export const withoutNoise = (lines: readonly string[]): readonly string[] => lines.filter(line => !NOISE.test(line))

const linesOf = (text: string): readonly string[] =>
  text
    .slice(-TAIL_MAX)
    .replace(SEQUENCES, '')
    .split('\n')
    // Of a progress bar, what it showed last.
    .map(line => line.trimEnd().split('\r').at(-1)!.trim())
    .filter(line => line !== '')

const TAIL_MAX = 8_192
const LINE_MAX = 200
/** Colours, movements of the cursor, and links. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with one.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g
const FAULT = /(?:error|fatal|panic|exception)\b|\b(?:not found|no such|cannot|can't|unable|denied|failed)\b/i
const NOISE =
  /^\s*(?:Node\.js v\d|npm (?:notice|warn|info)\b|npm (?:error|ERR!)\s*(?:A complete log|\S*_logs\/|$)|at .+(?::\d+:\d+\)?|\(<anonymous>\))$)/
/** Messages of programs that only report the failure of another one. */
const WRAPPER = /^(?:npm (?:error|ERR!)|make(?:\[\d+\])?: \*\*\*|error Command failed|ERR_PNPM|\s*ELIFECYCLE)/
