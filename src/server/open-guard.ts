// The guard of `serve --no-auth`: nobody is asked for a token, everybody on this machine may do everything. Loopback only.

import type { Actor } from '../domain/id.ts'
import type { Guard } from './guard.ts'

export function openGuard(): Guard {
  const who = { actor: 'anyone' as Actor, role: 'admin' as const, scope: null, token: '' }
  return { admit: () => who, takesAnyType: () => true }
}
