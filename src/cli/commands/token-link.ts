// `planfold token link [NAME]`: a link that opens the running service in a browser, once.

import { randomBytes } from 'node:crypto'
import { CODE_MS } from '../../server/browsers.ts'
import { keepCode, newCode } from '../../server/code-files.ts'
import { listRunning } from '../../server/running.ts'
import { listTokens, ownerSecret, sha256Of } from '../../server/token-book.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { Complaint, EXIT, notFound } from '../exit.ts'

export async function tokenLink(context: Context, name: string | undefined): Promise<number> {
  return await withState(context, { create: false }, async ({ stateDir }) => {
    const services = listRunning(stateDir)
    const running = services.find(({ auth }) => auth) ?? services[0]
    if (running === undefined)
      throw new Complaint(EXIT.refused, 'not-running', 'no service runs on this store', 'start one: planfold serve')
    if (!running.auth)
      throw new Complaint(
        EXIT.refused,
        'no-auth',
        'the service was started with --no-auth: it takes no link',
        `open ${running.address}`,
      )
    const code = newCode(randomBytes)
    const expiresAt = context.now() + CODE_MS
    await keepCode(stateDir, code, { token: await hashOf(stateDir, name), until: expiresAt }, context.now())
    const link = `${running.address}/#code=${code}`
    answer(context, { link, expiresAt }, () => link)
    remark(context, 'it works once, within 10 minutes')
    return EXIT.done
  })
}

async function hashOf(stateDir: string, name: string | undefined): Promise<string> {
  if (name !== undefined) {
    const token = listTokens(stateDir).find(one => one.name === name)
    if (token === undefined) throw notFound(`there is no token '${name}'`, 'see `planfold token list`')
    return token.sha256
  }
  const owner = await ownerSecret(stateDir, randomBytes)
  if (!owner.ok) throw new Complaint(EXIT.refused, 'token', owner.message, owner.hint)
  return sha256Of(owner.secret)
}
