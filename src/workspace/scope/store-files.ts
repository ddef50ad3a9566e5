// Converts errors of the content store into values, besides those of the file system. Matched by name, because rooms on one level see only
// each other's types.

import { advise, quoted } from '../../domain/hint.ts'
import { fullCode } from '../../domain/shortage.ts'
import { type Answer, answering, codeOf, failure } from '../../safety/safety-refusal.ts'

export async function storing<T>(doing: string, work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return await answering(doing, work)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (error.name === 'StoreFull')
      return {
        ok: false,
        failure: {
          ...failure('resource', `${doing}: ${error.message}`, 'free some and try again'),
          code: `errno:${causeOf(error)}`,
          shortage: 'disk-full',
        },
      }
    if (error.name === 'StoreDamaged')
      return {
        ok: false,
        failure: failure('logic', `${doing}: ${error.message}`, advise`run ${quoted('check', { readData: true })}`),
      }
    throw error
  }
}

const causeOf = ({ cause }: Error): string => fullCode(codeOf(cause))
