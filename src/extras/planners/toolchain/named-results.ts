// A test command that prints each test by its name, where it is known which runner it starts: then a check can tell a new test from
// an old one. It is decided while the draft is written, so that what is approved is what runs.

const SCRIPTS: readonly (readonly [runner: RegExp, flags: readonly string[]])[] = [
  [/^vitest( run)?( (?!.*--reporter)[^&|;]*)?$/, ['--reporter=verbose']],
  [/^jest( (?!.*--(?:verbose|reporters|json))[^&|;]*)?$/, ['--verbose', '--reporters=default']],
]

/** Where nyc, c8 and jest write when the tests run, as far as git ignores it. */
export function reportFolders(testScript: string | null, ignore: string | undefined): readonly string[] {
  if (!/\b(?:nyc|c8)\b|--coverage\b/.test(testScript ?? '')) return []
  return ['.nyc_output', 'coverage'].filter(name => (ignore ?? '').includes(name)).map(name => `${name}/**`)
}

/** `testScript`: the script "test" of `package.json`. Node's own runner and mocha print names by themselves. */
export function withNamedResults(run: readonly string[], testScript: string | null): readonly string[] {
  const line = run.join(' ')
  if (/^(npm|pnpm|yarn)( --filter \S+| -C \S+)? (run )?(test[\w:]*|unit|vitest|jest)$/.test(line)) {
    const flags = SCRIPTS.find(([runner]) => runner.test(testScript?.trim() ?? ''))?.[1]
    return flags === undefined ? run : [...run, ...(run[0] === 'npm' ? ['--'] : []), ...flags]
  }
  if (/(^|[\s/])pytest$/.test(line)) return [...run, '-rA']
  // `-C`, the folder of the module, has to come first.
  if (/^go test(?! .*-(?:v|json)\b)/.test(line)) return run.toSpliced(run[2] === '-C' ? 4 : 2, 0, '-v')
  // Else the first crate that fails keeps the others from being tested.
  if (/^cargo test(?! .*--(?: |no-fail-fast))/.test(line)) return [...run, '--no-fail-fast']
  if (/(^|[\s/])rspec$/.test(line)) return [...run, '--format', 'documentation']
  if (/ -m unittest( discover)?$/.test(line)) return [...run, '-v']
  return run
}
