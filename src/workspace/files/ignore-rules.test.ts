import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { type IgnoreRules, isIgnored, readRules } from './ignore-rules.ts'

const RUNS = Number(process.env.PLANFOLD_IGNORE_RUNS ?? 60)

const names = [
  'a',
  'b',
  'ab',
  'foo',
  'bar',
  'foobar',
  'x.log',
  'y.txt',
  'build',
  'a-b',
  '#c',
  '!d',
  'e ',
  '[f]',
  'caf\u00e9',
]
const paths = fc
  .array(fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 25 })
  .map(all => all.map(parts => parts.join('/')))
const piece = fc.constantFrom(
  ...[
    'a',
    'b',
    'ab',
    'foo',
    'bar',
    'x.log',
    'build',
    '*',
    '**',
    '***',
    '?',
    '*.log',
    'f*',
    '*b*',
    '[ab]',
    '[!a]',
    '[^b-z]*',
  ],
  ...[
    '[[:alpha:]]*',
    '[a-',
    '[]]',
    '[]a]',
    '[a\\]]',
    '[\\!a]',
    '\\a',
    'foo**',
    '**bar',
    '\\#c',
    '#c',
    '\\!d',
    'e\\ ',
    'e ',
    'caf\u00e9',
    'caf*',
  ],
  ...['[[:nope:]]', '[[:a]', '*\\', 'a-b', '[a-c]-?', '[+--]*', 'foo*bar', 'f**r'],
)
const pattern = fc
  .record({
    negated: fc.boolean(),
    first: fc.constantFrom('', '', '', '/', '**/'),
    parts: fc.array(piece, { minLength: 1, maxLength: 3 }),
    last: fc.constantFrom('', '', '/', '/**', '/*', ' ', '\r', '  '),
  })
  .map(({ negated, first, parts, last }) => `${negated ? '!' : ''}${first}${parts.join('/')}${last}`)
const ignoreFile = fc.array(pattern, { minLength: 1, maxLength: 6 }).map(lines => lines.join('\n'))

test('what is ignored is what git ignores, for any patterns in nested files', () => {
  const base = mkdtempSync(join(tmpdir(), 'ignore-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const git = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', PATH: process.env.PATH ?? '' }
  let compared = 0
  let ignored = 0
  fc.assert(
    fc.property(
      paths,
      ignoreFile,
      fc.dictionary(fc.constantFrom('a', 'foo', 'a/b', 'build'), ignoreFile),
      (all, top, nested) => {
        const root = mkdtempSync(join(base, 'tree-'))
        execFileSync('git', ['init', '-q', '--template=', root], { env: git })
        const files = new Map<string, string>([['', top], ...Object.entries(nested)])
        for (const path of all) {
          try {
            mkdirSync(join(root, dirname(path)), { recursive: true })
            writeFileSync(join(root, path), '', { flag: 'wx' })
          } catch {}
        }
        for (const [folder, text] of files) {
          try {
            writeFileSync(join(root, folder, '.gitignore'), text)
          } catch {
            files.delete(folder)
          }
        }
        const shown = execFileSync(
          'find',
          ['.', '-mindepth', '1', '-name', '.git', '-prune', '-o', '-printf', '%y%P\\0'],
          { cwd: root },
        )
        const found = shown
          .toString('latin1')
          .split('\0')
          .slice(0, -1)
          .filter(line => !line.endsWith('.gitignore'))
        const asked = spawnSync('git', ['check-ignore', '-z', '--stdin', '--no-index'], {
          cwd: root,
          env: git,
          input: Buffer.from(found.map(line => `${line.slice(1)}\0`).join(''), 'latin1'),
        })
        const theirs = asked.stdout.toString('latin1').split('\0').slice(0, -1).sort()
        const rulesOf = new Map(
          [...files].map(([folder, text]) => [
            folder,
            readRules(folder === '' ? '' : `${folder}/`, Buffer.from(text).toString('latin1')),
          ]),
        )
        const ours: string[] = []
        const above = new Set<string>()
        for (const line of found.sort((a, b) => (a.slice(1) < b.slice(1) ? -1 : 1))) {
          const path = line.slice(1)
          const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
          const stack: IgnoreRules[] = []
          for (let at = 0; at >= 0; at = path.indexOf('/', at + 1)) {
            const rules = rulesOf.get(path.slice(0, at))
            if (rules !== undefined) stack.push(rules)
          }
          if (above.has(folder) || isIgnored(stack, path, line[0] === 'd')) {
            ours.push(path)
            above.add(path)
          }
        }
        compared += found.length
        ignored += ours.length
        rmSync(root, { recursive: true, force: true })
        expect(ours.sort(), JSON.stringify([...files])).toEqual(theirs)
      },
    ),
    { numRuns: RUNS },
  )
  expect(compared).toBeGreaterThan(RUNS)
  expect(ignored).toBeGreaterThan(RUNS / 4)
})

test('a hostile pattern takes no longer than its length times the path', () => {
  const rules = readRules('', `${'*a'.repeat(300)}b\n${'**/'.repeat(200)}z\n`)
  expect(isIgnored([rules], 'a'.repeat(255), false)).toBe(false)
})
