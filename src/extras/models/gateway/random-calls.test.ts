// Many calls at once, in pieces, with errors, and with agents that go away anywhere: our count is the server's, token for token, and the
// budget is never passed. PLANFOLD_GATEWAY_RUNS makes it longer; a failure prints its seed.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { gatewayFor, question, SpendingMemory, send, WIRES } from './gateway.fixture.ts'

const RUNS = Number(process.env.PLANFOLD_GATEWAY_RUNS ?? 8)

const call = fc.record({
  stream: fc.boolean(),
  /** So much is heard before the agent goes away; null: it stays. */
  leavesAfter: fc.option(fc.nat(600), { nil: null }),
  pieceBytes: fc.integer({ min: 1, max: 200 }),
  asks: fc.string({ maxLength: 400 }),
  says: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
  does: fc.constantFrom('text', 'text', 'text', 'call', 'error'),
  output: fc.nat(300),
  cached: fc.nat(1_000),
  max: fc.integer({ min: 1, max: 2_000 }),
})

it.each(WIRES)('%s: random calls are counted as the server counts them', async wire => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 10 }),
      fc.integer({ min: 500, max: 20_000 }),
      async (all, cap) => {
        const spending = new SpendingMemory({ tokens: cap })
        const { gateway, server } = await gatewayFor(
          wire,
          ({ body, outputTokensMax }) => {
            const { does, says, pieceBytes, output, cached } = all[Number(/#(\d+)#/.exec(body)?.[1])]!
            if (does === 'error') return { error: { status: 500, message: says } }
            const input = Math.ceil(body.length / 4)
            const usage = {
              input,
              output: Math.min(output, outputTokensMax ?? output),
              cacheRead: Math.min(cached, input),
            }
            return does === 'call'
              ? { call: { name: 'read', input: { says } }, usage, pieceBytes }
              : { text: says, usage, pieceBytes }
          },
          { spending },
        )
        await Promise.all(
          all.map(async ({ stream, leavesAfter, asks, max }, at) => {
            const asking = send(gateway, question(wire, `#${at}# ${asks}`, { stream, max }))
            const done = asking.done.catch(() => {})
            if (leavesAfter === null) return await done
            await Promise.race([asking.heard(leavesAfter), done])
            asking.abort()
          }),
        )
        await gateway.close()
        const { calls: _, ...served } = server.served
        const { inputTokens, outputTokens, cacheReadTokens } = gateway.spent().usage
        expect({ input: inputTokens, output: outputTokens, cacheRead: cacheReadTokens }).toEqual({
          input: served.input,
          output: served.output,
          cacheRead: served.cacheRead,
        })
        expect(spending.spent.tokens).toBe(served.input + served.output)
        expect(spending.held.calls).toBe(0)
        expect(spending.peakTokens).toBeLessThanOrEqual(cap)
        await server.close()
      },
    ),
    { numRuns: RUNS },
  )
})
