// Test commands that print each test by name, for known runners, so that a check can tell new tests from old ones. Chosen while
// drafting, so that exactly the approved command runs.

const SCRIPTS: readonly (readonly [runner: RegExp, flags: readonly string[]])[] = [
  [/^vitest( run)?( (?!.*--reporter)[^&|;]*)?$/, ['--reporter=verbose']],
  [/^jest( (?!.*--(?:verbose|reporters|json))[^&|;]*)?$/, ['--verbose', '--reporters=default']],
]

/** Where nyc, c8 and jest write reports, if git ignores it. */
export function reportFolders(testScript: string | null, ignore: string | undefined): readonly string[] {
  if (!/\b(?:nyc|c8)\b|--coverage\b/.test(testScript ?? '')) return []
  return ['.nyc_output', 'coverage'].filter(name => (ignore ?? '').includes(name)).map(name => `${name}/**`)
}

const SCRIPT_RUN =
  /^(npm|pnpm|yarn)( (?:--filter|-C|--prefix|--cwd|workspace) \S+)? (?:run )?(test[\w:]*|unit|vitest|jest)(?: -w \S+)?$/

/** `testScript`: the script "test" of `package.json`. Node's runner and mocha print names by default. */
export function withNamedResults(run: readonly string[], testScript: string | null): readonly string[] {
  const line = run.join(' ')
  const [, manager, where = '', name] = SCRIPT_RUN.exec(line) ?? []
  if (name !== undefined) {
    const flags = SCRIPTS.find(([runner]) => runner.test(testScript?.trim() ?? ''))?.[1]
    if (flags === undefined) return run
    if (manager === 'npm') return [...run, '--', ...flags]
    // `pnpm test` keeps `--reporter` for itself up to version 9, and from 10 on passes `--` to the runner; `pnpm run` does neither.
    return manager === 'pnpm' ? [...`pnpm${where} run ${name}`.split(' '), ...flags] : [...run, ...flags]
  }
  if (/(^|[\s/])pytest$/.test(line)) return [...run, '-rA']
  // `-C`, the module's folder, must come first.
  if (/^go test(?! .*-(?:v|json)\b)/.test(line)) return run.toSpliced(run[2] === '-C' ? 4 : 2, 0, '-v')
  // Otherwise the first failing crate stops the rest.
  if (/^cargo (?:\+\S+ )?test(?! .*--(?: |no-fail-fast))/.test(line)) return [...run, '--no-fail-fast']
  if (/(^|[\s/])rspec$/.test(line)) return [...run, '--format', 'documentation']
  if (/ -m unittest( discover)?$/.test(line)) return [...run, '-v']
  return run
}
