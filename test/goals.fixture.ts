// Goals of fifteen kinds on three small repositories, with what the embedded planner must find: the table that
// `planner-goals.test.ts` goes through. A `change` is a correct change, applied to see that the checks of the plan then hold.

export interface GoalCase {
  readonly what: string
  readonly repository: 'ts-library' | 'python-script' | 'shell-project' | 'empty'
  readonly goal: string
  readonly kind: string
  /** The file that must be found first. */
  readonly first?: string
  /** Files that must be among the first five. */
  readonly among?: readonly string[]
  readonly test: string | null
  /** Made before planning, so that the goal is true of the repository. */
  readonly before?: readonly Change[]
  /** The goal has an end that can be checked: a correct change. `plan`: by the command of the plan itself. */
  readonly change?: readonly Change[] | 'plan'
  /** What must be asked, where nothing can be assumed. */
  readonly asks?: RegExp
  /** What must be said that was assumed. */
  readonly assumes?: RegExp
}

export interface Change {
  readonly file: string
  readonly find?: string
  readonly text: string
}

const TRACE = `Running \`python3 tally.py data/empty.csv\` crashes:

Traceback (most recent call last):
  File "/home/ana/tally/tally.py", line 29, in <module>
    main()
  File "/home/ana/tally/tally.py", line 25, in main
    print(f"average {average(amounts):.2f}")
  File "/home/ana/tally/tally.py", line 14, in average
    return sum(amounts) / len(amounts)
ZeroDivisionError: division by zero`

const UNITTEST = 'python3 -m unittest discover -s tests'

export const GOALS: readonly GoalCase[] = [
  {
    what: 'a bug with a stack trace',
    repository: 'python-script',
    goal: TRACE,
    kind: 'bug',
    first: 'tally.py',
    test: UNITTEST,
    change: [
      {
        file: 'tally.py',
        find: 'return sum(amounts) / len(amounts)',
        text: 'return sum(amounts) / max(1, len(amounts))',
      },
    ],
  },
  {
    what: 'a failing test',
    repository: 'ts-library',
    goal: "The test 'quotes a field with a comma' fails",
    kind: 'failing-test',
    first: 'src/format.ts',
    test: 'npm test',
    before: [{ file: 'src/format.ts', find: "field.includes(',')", text: "field.includes(';')" }],
    change: [{ file: 'src/format.ts', find: "field.includes(';')", text: "field.includes(',')" }],
  },
  {
    what: 'a rename',
    repository: 'ts-library',
    goal: 'Rename `parseRow` to `splitRow`',
    kind: 'rename',
    first: 'src/parse.ts',
    among: ['src/index.ts'],
    test: 'npm test',
    change: 'plan',
  },
  {
    what: 'an update of a dependency',
    repository: 'ts-library',
    goal: 'Update left-pad to 1.3.0',
    kind: 'dependency-update',
    among: ['package.json'],
    test: 'npm test',
    change: [{ file: 'package.json', find: '"left-pad": "1.1.0"', text: '"left-pad": "1.3.0"' }],
  },
  {
    what: 'a flaky test',
    repository: 'shell-project',
    goal: 'The test of the backup lock is flaky, it sometimes fails on the build server',
    kind: 'flaky-test',
    among: ['backup.sh', 'tests/run.sh'],
    test: 'make test',
    assumes: /a flaky test/,
  },
  {
    what: 'documentation',
    repository: 'python-script',
    goal: 'Document the `--by` option in the README',
    kind: 'docs',
    among: ['README.md', 'tally.py'],
    test: UNITTEST,
    change: [
      { file: 'README.md', find: '# tally\n', text: '# tally\n\nUse `--by COLUMN` to sum up another column.\n' },
    ],
  },
  {
    what: 'a question',
    repository: 'ts-library',
    goal: 'Should we keep our own CSV parser, or use a library?',
    kind: 'research',
    among: ['src/parse.ts'],
    test: 'npm test',
    assumes: /the answer is for information/,
  },
  {
    what: 'a refactoring across files',
    repository: 'shell-project',
    goal: 'Extract the log function of backup.sh and restore.sh into lib/log.sh',
    kind: 'refactor',
    among: ['backup.sh', 'restore.sh'],
    test: 'make test',
    change: [
      {
        file: 'lib/log.sh',
        text: 'log() { printf \'%s %s: %s\\n\' "$(date -u +%FT%TZ)" "$(basename "$0" .sh)" "$1" >&2; }\n',
      },
      {
        file: 'backup.sh',
        find: 'log() { printf \'%s backup: %s\\n\' "$(date -u +%FT%TZ)" "$1" >&2; }',
        text: '. ./lib/log.sh',
      },
      {
        file: 'restore.sh',
        find: 'log() { printf \'%s restore: %s\\n\' "$(date -u +%FT%TZ)" "$1" >&2; }',
        text: '. ./lib/log.sh',
      },
    ],
  },
  {
    what: 'a new endpoint',
    repository: 'ts-library',
    goal: 'Add an endpoint GET /health that answers 200',
    kind: 'endpoint',
    first: 'src/server.ts',
    test: 'npm test',
    change: [
      {
        file: 'src/server.ts',
        find: '  return { status: 404',
        text: "  if (method === 'GET' && path === '/health') return { status: 200, body: 'ok' }\n  return { status: 404",
      },
    ],
  },
  {
    what: 'performance',
    repository: 'python-script',
    goal: 'tally.py is slow on large files',
    kind: 'performance',
    first: 'tally.py',
    test: UNITTEST,
    assumes: /clearly faster, or smaller, than before/,
  },
  {
    what: 'a security fix',
    repository: 'shell-project',
    goal: 'Security: backup.sh allows command injection by the name of a folder',
    kind: 'security',
    first: 'backup.sh',
    test: 'make test',
    assumes: /nothing about this is told outside/,
  },
  {
    what: 'an empty repository',
    repository: 'empty',
    goal: 'Build a command line tool that counts words',
    kind: 'empty-repository',
    test: null,
    asks: /Which language/,
    assumes: /a new project/,
  },
  {
    what: 'a vague wish',
    repository: 'ts-library',
    goal: 'make it better',
    kind: 'vague',
    test: 'npm test',
    asks: /What should be different afterwards/,
    assumes: /not clear yet/,
  },
  {
    what: 'a wish in another language',
    repository: 'python-script',
    goal: 'Füge eine Option hinzu, mit der tally.py die Summe als JSON ausgibt',
    kind: 'feature',
    first: 'tally.py',
    test: UNITTEST,
    assumes: /written in German/,
  },
  {
    what: 'a wish that contradicts itself',
    repository: 'ts-library',
    goal: 'Remove the function `formatRow`, but keep `formatRow` exactly as it is',
    kind: 'contradiction',
    among: ['src/format.ts'],
    test: 'npm test',
    asks: /Which of the two applies/,
    assumes: /contradicts itself/,
  },
]
