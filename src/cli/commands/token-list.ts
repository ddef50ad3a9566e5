// `planfold token list`: who has a token, besides the owner.

import { listTokens, type Token } from '../../server/token-book.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { table } from '../table.ts'

export async function tokenList(context: Context): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ stateDir }) => {
    const items = listTokens(stateDir).map(({ sha256: _, ...token }) => token)
    answer(context, { items }, () => {
      const { paint, terminal } = context
      if (items.length === 0) return 'nobody but the owner has a token; make one with: planfold token create NAME'
      const rows = items.map(item => [item.name, item.role, scopeWords(item), untilWords(item, context.now())])
      return table(paint, ['name', 'role', 'for', 'until'], rows, terminal?.columns() ?? null)
    })
    return EXIT.done
  })
}

const scopeWords = ({ scope }: Pick<Token, 'scope'>): string =>
  scope === null ? 'everything' : [...(scope.plans ?? []), ...(scope.sessions ?? [])].join(', ')

function untilWords({ expiresAt }: Pick<Token, 'expiresAt'>, now: number): string {
  if (expiresAt === null) return 'no end'
  const at = new Date(expiresAt).toISOString()
  return expiresAt <= now ? `expired ${at}` : at
}
