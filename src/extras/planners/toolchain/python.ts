// Test and check commands of Python projects, and their launchers: `uv run pytest`, `nox -s tests`, `mypy .`.

import { roleOf } from '../ranking/file-role.ts'
import { purposeOfName } from './command-purpose.ts'
import { type Candidate, type Evidence, languagesOf } from './evidence.ts'

export const PYTHON_FILES = [
  'pyproject.toml',
  'setup.cfg',
  'setup.py',
  'tox.ini',
  'pytest.ini',
  'requirements.txt',
  'requirements-dev.txt',
  'Pipfile',
]

export const firstPythonTests = (files: readonly string[]): readonly string[] =>
  files.filter(path => /\.py$/.test(path) && roleOf(path) === 'test').slice(0, 20)

export function fromPython(evidence: Evidence): readonly Candidate[] {
  const { paths, files, text } = evidence
  const configured = PYTHON_FILES.filter(path => paths.has(path))
  if (configured.length === 0 && languagesOf(files)[0] !== 'Python') return []
  const all = configured.map(path => ({ path, text: text(path) ?? '' }))
  const found: Candidate[] = []
  const environments = namedEnvironments(evidence)
  const test = directTest(evidence, all)
  const others = environments.filter(({ purpose }) => purpose === 'test')
  // Installed tools are run directly; otherwise through an environment.
  const best = test?.isGuess === true ? (others[0] ?? test) : (test ?? others[0])
  if (best !== undefined) found.push({ ...best, or: [...(best.or ?? []), ...others.map(({ run }) => run)] })
  for (const [tool, run] of PYTHON_LINTERS) {
    const file = all.find(({ text }) => new RegExp(`\\b${tool}\\b`).test(text))?.path
    const own = [`.${tool}`, `${tool}config.json`, `${tool}.toml`, `.${tool}.toml`, `${tool}.ini`, `.${tool}rc`].find(
      path => paths.has(path),
    )
    if (file !== undefined || own !== undefined)
      found.push({ purpose: PYTHON_TYPES.has(tool) ? 'types' : 'lint', run, from: own ?? file!, isGuess: true })
  }
  return [...found, ...environments.filter(({ purpose }) => purpose !== 'test')]
}

function directTest(
  evidence: Evidence,
  configured: readonly { readonly path: string; readonly text: string }[],
): Candidate | null {
  const { paths, files, text } = evidence
  const tests = firstPythonTests(files)
  const inTests = tests.map(path => text(path) ?? '')
  const named = configured.find(({ path, text }) => path === 'pytest.ini' || /\bpytest\b/.test(text))
  const starter = starterOf(evidence)
  const pytest = (from: string): Candidate => ({
    purpose: 'test',
    run: [...starter, 'pytest'],
    from,
    ...(starter.length === 0 ? {} : { or: [['pytest']] }),
  })
  if (named !== undefined) return pytest(named.path)
  if (files.some(path => /(^|\/)conftest\.py$/.test(path))) return pytest('conftest.py')
  if (inTests.some(body => /^\s*(import|from) pytest\b/m.test(body))) return pytest('the tests, which import pytest')
  if (paths.has('manage.py') && tests.length > 0)
    return { purpose: 'test', run: [...starter, 'python3', 'manage.py', 'test'], from: 'manage.py' }
  if (inTests.some(body => /\bunittest\b/.test(body)))
    return { purpose: 'test', run: [...starter, ...unittestIn(tests)], from: 'the tests, which import unittest' }
  return tests.length > 0 ? { ...pytest('the names of the tests'), isGuess: true } : null
}

/** By the nearest lock file, or a Poetry manifest without one. */
function starterOf(evidence: Evidence): readonly string[] {
  for (const { paths, text } of [evidence, ...evidence.above]) {
    const manager = Object.keys(STARTERS).find(name => paths.has(STARTERS[name]!))
    if (manager !== undefined) return [manager, 'run']
    if (/^\[tool\.poetry\.dependencies\]/m.test(text('pyproject.toml') ?? '')) return ['poetry', 'run']
  }
  return []
}

const STARTERS: { readonly [manager: string]: string } = {
  uv: 'uv.lock',
  poetry: 'poetry.lock',
  pdm: 'pdm.lock',
  pipenv: 'Pipfile.lock',
}

/** Environments of `hatch`, `nox` and `tox`; the unnamed one is for tests. */
function namedEnvironments({ text }: Evidence): readonly Candidate[] {
  const found: Candidate[] = []
  const hatch = `${text('pyproject.toml') ?? ''}\n`
  if (/^\[\[?tool\.hatch\.envs\.hatch-test\b/m.test(hatch))
    found.push({ purpose: 'test', run: ['hatch', 'test'], from: 'pyproject.toml' })
  for (const [, name, scripts] of hatch.matchAll(/^\[tool\.hatch\.envs\.([\w-]+)\.scripts\]\n((?:(?!\[)[^\n]*\n)*)/gm))
    for (const [, script] of scripts!.matchAll(/^([\w-]+)\s*=/gm)) {
      const purpose = purposeOfName(script!)
      const run = ['hatch', 'run', name === 'default' ? script! : `${name}:${script}`]
      if (purpose !== null) found.push({ purpose, run, from: `pyproject.toml, '${script}'` })
    }
  for (const [, name] of (text('noxfile.py') ?? '').matchAll(/^@nox\.session\b[^\n]*\n(?:[@ )][^\n]*\n)*def (\w+)/gm)) {
    const purpose = purposeOfName(name!)
    if (purpose !== null) found.push({ purpose, run: ['nox', '-s', name!], from: `noxfile.py, '${name}'` })
  }
  const tox = text('tox.ini') ?? ''
  if (/^\[testenv\]/m.test(tox)) found.push({ purpose: 'test', run: ['tox', '-e', 'py'], from: 'tox.ini' })
  for (const [, name] of tox.matchAll(/^\[testenv:([\w-]+)\]/gm)) {
    const purpose = purposeOfName(name!)
    if (purpose !== null) found.push({ purpose, run: ['tox', '-e', name!], from: `tox.ini, '${name}'` })
  }
  return found
}

const PYTHON_TYPES = new Set(['mypy', 'pyright'])
const PYTHON_LINTERS: readonly (readonly [string, readonly string[]])[] = [
  ['ruff', ['ruff', 'check', '.']],
  ['flake8', ['flake8']],
  ['pylint', ['pylint', '.']],
  ['mypy', ['mypy', '.']],
  ['pyright', ['pyright']],
]

/** In a folder without `__init__.py`, tests are found only if the folder is named. */
function unittestIn(tests: readonly string[]): readonly string[] {
  const folders = new Set(tests.map(path => path.split('/').slice(0, -1).join('/')))
  const [folder] = folders
  if (folders.size !== 1 || folder === '') return ['python3', '-m', 'unittest']
  return ['python3', '-m', 'unittest', 'discover', '-s', folder!]
}
