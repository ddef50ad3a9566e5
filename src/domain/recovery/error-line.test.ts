import { expect, test } from 'vitest'
import { errorLine } from './error-line.ts'

test.each([
  [
    '> xo\n\nsh: 1: xo: not found\nnpm notice\nnpm notice New major version of npm available!\nnpm notice\n',
    'sh: 1: xo: not found',
  ],
  [
    'sh: 1: xo: not found\nnpm error Lifecycle script `test` failed with error:\nnpm error code 127\nnpm error A complete log of this run can be found in: /x/_logs/1.log\n',
    'sh: 1: xo: not found',
  ],
  [
    "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module './x'\n    at Module._resolveFilename (node:internal/modules:1225:15)\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n",
    "Error: Cannot find module './x'",
  ],
  ['one\ntwo\n', 'two'],
  ['\u001b[31mfatal: bad revision\u001b[0m\nusage: git\n', 'fatal: bad revision'],
  [
    'compiling 1%\r\u001b[Kcompiling 2%\r\u001b]8;;https://x.example\u001b\\error E7\u001b]8;;\u001b\\: total\r\n',
    'error E7: total',
  ],
  ['npm error code 1\nnpm error path /x\n', 'npm error path /x'],
  ['npm notice\n', 'npm notice'],
  ['', null],
])('%j is told by %j', (printed, line) => {
  expect(errorLine(printed)).toBe(line)
})

test('what stderr only wraps is looked for in stdout', () => {
  expect(errorLine('npm error code 1\n', 'AssertionError: 1 == 2\n')).toBe('AssertionError: 1 == 2')
  expect(errorLine('usage: x\n', '1 error\n')).toBe('usage: x')
})
