// Why a command could not even be started, said so that one knows what to do.

import type { Failure } from '../../domain/result.ts'
import { codeOf, failure, failureOf } from '../../safety/refused.ts'

export function spawnFailure(error: Error, argv: readonly string[]): Failure {
  const code = codeOf(error)
  const told = tell(error, argv)
  return code === null || code.startsWith('ERR_') ? told : { ...told, code: `errno:${code}` }
}

function tell(error: Error, argv: readonly string[]): Failure {
  const name = JSON.stringify((argv[0] ?? '').slice(0, 200))
  switch (codeOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return failure('logic', `Command not found: ${name}.`, `Is it installed and on PATH?`)
    case 'EACCES':
    case 'EPERM':
      return failure('logic', `${name} may not be executed.`, 'Give it its exec bit, or run it with its interpreter.')
    case 'ENOEXEC':
      return failure('logic', `${name} is not a program.`, 'Begin it with a #! line, or run it with its interpreter.')
    case 'E2BIG':
      return failure('logic', `The arguments of ${name} are too long.`, 'Hand large values over in a file or by stdin.')
    case 'ERR_INVALID_ARG_VALUE':
    case 'ERR_INVALID_ARG_TYPE':
      return failure('logic', `The command ${name} holds an empty name or a NUL byte.`, 'Correct the arguments.')
    case 'EAGAIN':
    case 'ENOMEM':
      return {
        ...failure(
          'resource',
          `Starting ${name}: the system is short of processes or memory.`,
          'Free some and try again.',
        ),
        shortage: 'processes',
      }
    default:
      return failureOf(`Starting ${name}`, error) ?? failure('unknown', `${name}: ${error.message}`)
  }
}
