// `planfold halt`: the kill switch. Ends all work of all plans in this store; nothing begins until it is lifted.

import type { Halt } from '../../engine/engine.ts'
import { escapeForTerminal } from '../../safety/terminal.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { EXIT, usage } from '../exit.ts'

export interface HaltOptions {
  readonly reason?: string
  readonly lift?: true
  readonly show?: true
}

export async function halt(context: Context, { reason, lift, show }: HaltOptions): Promise<number> {
  if (lift === true && show === true) throw usage('--lift and --show contradict each other', 'say one of them')
  return await withState(context, { create: false }, async ({ engine, actor }) => {
    if (show === true || lift === true) {
      const halted = show === true ? await engine.killSwitch.halted() : await engine.killSwitch.lift()
      answer(context, { halted: show === true ? halted : null, was: halted }, () =>
        halted === null
          ? 'nothing is halted'
          : show === true
            ? words(halted)
            : [`lifted; it was ${words(halted)}`, 'plans stay paused; go on with: planfold resume'],
      )
      return EXIT.done
    }
    const halted = await engine.killSwitch.halt(reason ?? 'no reason was given', actor)
    const { paused, already, left } = halted
    answer(context, { halted }, () => [
      words(halted),
      ...(paused.length === 0 ? [] : [`paused: ${paused.join(', ')}`]),
      ...(paused.length + already.length + left.length === 0 ? ['no plan was open'] : []),
      ...(already.length === 0 ? [] : [`paused already: ${already.join(', ')}`]),
      ...left.map(({ name, why }) => `${name} could not be paused: ${escapeForTerminal(why)}`),
    ])
    remark(context, 'nothing begins until: planfold halt --lift')
    return left.length === 0 ? EXIT.done : EXIT.refused
  })
}

const words = ({ by, at, reason }: Halt): string =>
  `halted by ${escapeForTerminal(by)} at ${new Date(at).toISOString()}: ${escapeForTerminal(reason)}`
