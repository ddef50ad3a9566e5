import { expect, test } from 'vitest'
import { spawnFailure } from './run-runner.ts'

const classOf = (code: string) => {
  const { class: kind, retryable } = spawnFailure(Object.assign(new Error(code), { code }), ['tool'])
  return [kind, retryable]
}

test('a machine short of something may be tried again', () => {
  for (const code of ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM']) expect(classOf(code), code).toEqual(['resource', true])
})

test('a command that cannot be one is not tried again', () => {
  for (const code of ['ENOENT', 'EACCES', 'E2BIG', 'ENOEXEC']) expect(classOf(code), code).toEqual(['logic', false])
  expect(spawnFailure(Object.assign(new Error(), { code: 'ENOENT' }), ['x'])).toMatchObject({
    message: 'command not found: "x"',
    hint: 'install it, or add its folder to PATH',
  })
})
