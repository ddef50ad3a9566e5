// Reads the output of a failed command: files of the repository it names, failed tests, and whether the sandbox or a missing
// installation caused it.

import { stripVTControlCharacters } from 'node:util'
import { ranNoTest } from '../../../format/test-results/test-results.ts'
import { type LookedCommand, NOT_INSTALLED as MISSING } from '../look-result.ts'

export interface PrintedFailure extends Pick<LookedCommand, 'failed' | 'total' | 'places' | 'lines'> {
  /** Why it says nothing about the project, as the end of a sentence; null if no such reason was found. */
  readonly mark: string | null
}

export interface Printing {
  /** The workspace's absolute path. */
  readonly root: string
  readonly home: string | undefined
  /** The folder it ran in, relative to the workspace. */
  readonly in?: string | undefined
  readonly paths: readonly string[]
  /** Files that are never the cause. */
  readonly tools: readonly string[]
}

const PLACES_MAX = 40
const LINES_MAX = 30
const LINE_MAX = 200
const READ_MAX = 4_000
/** Patterns are slow on very long lines. */
const READ_LINE_MAX = 1_000

export function readPrinted(text: string, printing: Printing): PrintedFailure {
  const { root, home } = printing
  const output = stripVTControlCharacters(text)
    .split(/\r?\n/)
    .map(line => line.slice(0, READ_LINE_MAX).replaceAll(`file://${root}/`, '').replaceAll(`${root}/`, ''))
  // Drops messages of the script runners themselves.
  const lines = output.filter(
    line => !/^(> |\$ |npm (ERR!|error|warn|notice)|make: |make\[|error: (script|recipe) )/i.test(line),
  )
  const mark = MARKS.find(([pattern]) => output.some(line => pattern.test(line)))?.[1]
  const isOfHome =
    home !== undefined &&
    home !== '/' &&
    output.some(line => /ENOENT|No such file/.test(line) && line.includes(`${home}/`))
  const named = placesIn(lines.slice(0, READ_MAX), printing)
  const places = named.some(({ line }) => line !== null) ? named.filter(({ line }) => line !== null) : named
  const counts = countsIn(output.join('\n'))
  const isEmptyRun = counts.failed === undefined && ranNoTest(output.join('\n'))
  const from = Math.max(0, lines.findIndex(line => places.some(({ file }) => line.includes(baseOf(file)))) - 3)
  return {
    ...counts,
    mark:
      mark ??
      (isOfHome
        ? 'it looks for a file of your home, which is empty in the sandbox'
        : isEmptyRun
          ? 'it ran no test'
          : null),
    places: places.slice(0, PLACES_MAX),
    lines: lines
      .slice(from)
      .filter(line => line.trim() !== '')
      .slice(0, LINES_MAX)
      .map(line => line.slice(0, LINE_MAX)),
  }
}

const SANDBOXED = 'it fails in the sandbox'
const MARKS: readonly (readonly [RegExp, string])[] = [
  [/\bEROFS\b|Read-only file system/i, `${SANDBOXED}, where it cannot write to a shared folder`],
  [/\bENOENT\b.*\bmkdir\b|\bmkdir\b.*(ENOENT|No such file)/, `${SANDBOXED}, where a folder is missing`],
  [/\bENOSPC\b|No space left on device|\bENOMEM\b/, `${SANDBOXED}, where it has too little room`],
  [
    /\b(ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|ENOTFOUND)\b|Connection refused|Network is unreachable|name resolution|Could not resolve host|Name or service not known|getaddrinfo|dial tcp/i,
    `${SANDBOXED}, which has no network`,
  ],
  [/\b(EPERM|EACCES)\b|Operation not permitted|Permission denied/, `${SANDBOXED}, where something is not permitted`],
  [/HOME.{0,20}not (set|defined)|could not (find|determine).{0,20}home/i, `${SANDBOXED}, where the home is empty`],
  [/Cannot find (module|package) '(?![./])|ERR_MODULE_NOT_FOUND.*'(?![./])/, MISSING],
  [/ModuleNotFoundError|No module named|cannot load such file|Could not find gem|Bundler::GemNotFound/, MISSING],
  [
    /^make(\[\d+\])?: [\w.-]+: No such file|\bError 12[67]$|command not found|: not found\b|spawn \S+ ENOENT|could not determine executable|is not recognized as/i,
    MISSING,
  ],
  [
    /\bENOTCACHED\b|npx canceled|no required module provides package|module lookup disabled|cannot find package|failed to (download|get) |you're using offline mode|but --offline was specified/i,
    MISSING,
  ],
]

const FILE =
  /(?:^|[\s("'`[<=,]|-->\s)(?:\.\/)?((?:[\w@.+-]+\/)*[\w@.+-]+\.\w{1,8})(?:(?:::?|\()(\d{1,7}))?(?=[\s:;,()\]>"'`|]|$)/g
const PYTHON = /File "([^"]+)", line (\d+)/
/** Passing tests, progress, and headings per file. */
const NOT_FAULTS = /^\s*(✓|✔|√|ok \d|PASS\b|# Subtest|\.+\s|▶)|\bPASSED\b|\[\s*\d+%\]\s*$/

function placesIn(lines: readonly string[], { paths, tools, in: folder }: Printing): LookedCommand['places'] {
  const known = new Set(paths)
  const skipped = new Set(tools)
  const byName = new Map<string, string | null>()
  for (const path of paths) byName.set(baseOf(path), byName.has(baseOf(path)) ? null : path)
  const fileOf = (name: string): string | null => {
    const inside = folder === undefined ? name : `${folder}/${name}`
    if (known.has(inside)) return inside
    if (known.has(name)) return name
    return name.includes('/') ? null : (byName.get(name) ?? null)
  }
  const found = new Map<string, { file: string; line: number | null }>()
  let heading: string | null = null
  const add = (file: string, line: number | null): void => {
    if (skipped.has(file) || /(^|\/)(package(-lock)?\.json|Makefile|justfile)$/i.test(file)) return
    const key = `${file}:${line}`
    if (found.size < PLACES_MAX * 4) found.set(key, { file, line })
  }
  for (const line of lines) {
    if (NOT_FAULTS.test(line)) continue
    const [, file, at] = PYTHON.exec(line) ?? []
    const traced = file === undefined ? null : fileOf(file)
    if (traced !== null) add(traced, Number(at))
    // `  12:5  error …` below the file's name.
    const below = /^\s+(\d+):\d+\s/.exec(line)?.[1]
    if (below !== undefined && heading !== null) add(heading, Number(below))
    let isNamed = false
    for (const [, name, number] of line.matchAll(FILE)) {
      const path = fileOf(name!)
      if (path === null || path === traced) continue
      isNamed = true
      if (number === undefined && line.trim() === name) heading = path
      add(path, number === undefined ? null : Number(number))
    }
    if (!isNamed && line.trim() === '') heading = null
  }
  // One place per file: the first with a line.
  const first = new Map<string, number | null>()
  for (const { file, line } of found.values()) if ((first.get(file) ?? null) === null) first.set(file, line)
  return [...first].map(([file, line]) => ({ file, line }))
}

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Totals of test runners: the groups are the failed tests, and all or the passed ones. */
const COUNTS: readonly RegExp[] = [
  /^[#ℹ] tests (?<all>\d+)$.*?^[#ℹ] fail (?<failed>\d+)$/ms,
  /^\s*Tests:?\s+(?<failed>\d+) failed\b.*?\(?(?<all>\d+)(?: total\)?|\))\s*$/m,
  /^Ran (?<all>\d+) tests? in .*?^FAILED \((?:failures|errors)=(?<failed>\d+)/ms,
  /\b(?<all>\d+) examples?, (?<failed>\d+) failures?/,
  /\b(?<all>\d+) (?:runs|tests), \d+ assertions, (?<failed>\d+) failures/,
  /test result: FAILED\. (?<passed>\d+) passed; (?<failed>\d+) failed/,
  /\b(?<passed>\d+) passing\b.*?\b(?<failed>\d+) failing\b/s,
  /\b(?<failed>\d+) failed, (?<passed>\d+) passed\b/,
  /\b(?<failed>\d+) failed\b(?: in |,)/,
]

function countsIn(text: string): Pick<LookedCommand, 'failed' | 'total'> {
  for (const pattern of COUNTS) {
    const groups = pattern.exec(text)?.groups
    if (groups === undefined) continue
    const failed = Number(groups.failed)
    const total = groups.all ?? (groups.passed === undefined ? undefined : Number(groups.passed) + failed)
    return failed === 0 ? {} : { failed, ...(total === undefined ? {} : { total: Number(total) }) }
  }
  return {}
}
