// `planfold audit seal PLAN --key-file KEY`: a seal over the journal as it is now, to be kept where whoever can write the store
// cannot. Only a journal whose chain is whole is sealed.

import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { makeSeal } from '../../safety/seal.ts'
import { answer } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { Complaint, EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'
import { keyOf } from './audit-verify.ts'

export interface SealOptions {
  readonly keyFile: string
  readonly out?: string
}

export async function seal(context: Context, word: string | undefined, options: SealOptions): Promise<number> {
  return await withState(context, { create: false, reading: true }, async composed => {
    const key = await keyOf(context, composed, options.keyFile)
    const { plan, name } = await meantPlan(composed.engine, word, { looking: true })
    const chain = await composed.engine.ask({ type: 'chain', plan })
    if (chain === null) throw new Error(`bug: the plan ${plan} was found and is gone`)
    const { entries: version, head, fault } = chain
    if (fault !== null)
      throw new Complaint(
        EXIT.refused,
        'damaged',
        `the journal of '${name}' is not whole and is not sealed: ${fault.message}`,
        'keep this state folder as it is, and compare it with a copy',
      )
    const made = makeSeal(key, { plan, name, version, head })
    const out = options.out === undefined ? null : resolve(context.cwd, options.out)
    if (out !== null) await writeNew(out, `${JSON.stringify(made)}\n`)
    answer(context, made, () => (out === null ? JSON.stringify(made) : `${name} is sealed at entry ${version}: ${out}`))
    return EXIT.done
  })
}

/** A seal is never written over: the old one may be all that proves something. */
async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    throw new Complaint(
      EXIT.refused,
      'exists',
      `there is a file '${path}' already`,
      'name another, or append: planfold audit seal … >> FILE',
    )
  }
}
