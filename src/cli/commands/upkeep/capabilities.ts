// `planfold doctor capabilities`: what tasks can do, and whether it works on this machine.

import { listRunners } from '../../../compose.ts'
import { findExtra } from '../../../extras.ts'
import { capabilities } from '../../../operations/upkeep/capabilities.ts'
import { examine } from '../../../operations/upkeep/doctor.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT } from '../../command.ts'
import { hintText } from '../../text/hint-text.ts'
import { doctorRooms } from './doctor.ts'

export async function listCapabilities(context: Context): Promise<number> {
  const { paint } = context
  const rooms = doctorRooms(context)
  const { findings } = await examine(rooms)
  const found = capabilities(
    listRunners().values(),
    findings,
    await rooms.models.list(),
    (await (await findExtra('agents'))?.listAgents(rooms)) ?? [],
  ).map(each => ({
    ...each,
    repair: each.repair === null ? null : hintText(each.repair),
  }))
  const marks = { yes: paint.green('✔'), partly: paint.yellow('!'), no: paint.red('✖') }
  answer(context, { items: found }, () =>
    found.flatMap(({ action, does, effects, risks, dryRun, works, why, repair }) => [
      `${marks[works]} ${action.padEnd(7)} ${does} ${paint.dim(`(${effects.join(', ')})`)}`,
      ...risks.map(risk => `          ${paint.dim('risk')}: ${risk}`),
      `          ${paint.dim('dry run')}: ${dryRun}`,
      ...(why === null ? [] : [`          ${paint.yellow('here')}: ${escapeForTerminal(why)}`]),
      ...(repair === null ? [] : [`          ${paint.cyan('repair')}: ${escapeForTerminal(repair)}`]),
    ]),
  )
  return EXIT.done
}
