// `planfold token revoke NAME`: from now on the token opens nothing, also in a service that runs.

import { revokeToken } from '../../server/token-book.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, notFound } from '../exit.ts'

export async function tokenRevoke(context: Context, name: string): Promise<number> {
  return await withState(context, { create: false }, async ({ stateDir }) => {
    if (!(await revokeToken(stateDir, name))) throw notFound(`there is no token '${name}'`, 'see `planfold token list`')
    answer(context, { revoked: name }, () => `${name} is revoked`)
    return EXIT.done
  })
}
