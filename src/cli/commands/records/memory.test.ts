// What earlier plans teach, from the command line.

import { expect, it } from 'vitest'
import { eachPlace, type Place, type Said } from '../../place.fixture.ts'
import { answerQuestion, choose } from '../people/answer.ts'
import { approve } from '../people/approve.ts'
import { run } from '../plans/run.ts'
import { decisions } from './memory.ts'

const place = eachPlace()
const says = (body: Parameters<Place['say']>[0]): Promise<Said> => place.say(body)

it('what people decided in any plan is listed, newest first, with who, why and where', async () => {
  await place.write(
    'first.yaml',
    `planfold: 1
name: first
tasks:
  - { id: store, title: Which database?, gate: { type: decision, options: [{ id: sqlite }, { id: postgres }] } }
  - { id: sound, gate: { type: invariant, checks: [{ expect: 1 < 2 }] } }
`,
  )
  await place.write(
    'second.yaml',
    `planfold: 1
name: second
tasks:
  - { id: where, gate: { type: question, question: Where does it run?, form: [{ name: region, type: text }] } }
  - { id: ship, title: "Ship \\e[2J it", needs: [where], gate: approval }
`,
  )
  for (const file of ['first.yaml', 'second.yaml']) await says(context => run(context, file, { start: true }))
  expect((await says(context => decisions(context, undefined, { limit: 20 }))).stdout).toContain('nobody has decided')
  await says(context => choose(context, ['first', 'store', 'postgres'], { message: 'we know it' }))
  await says(context => answerQuestion(context, 'second', 'where', ['region=eu'], {}))
  await says(context => approve(context, 'second', 'ship', { message: 'looked at it' }))

  const all = await says(context => decisions(context, undefined, { limit: 20 }))
  const lines = all.stdout.split('\n').filter(line => line.startsWith('  '))
  expect(lines).toEqual([
    '  Ship \\u{1b}[2J it: approved (looked at it)',
    '  Where does it run?: eu',
    '  Which database?: postgres (we know it)',
  ])
  expect(all.stdout).toMatch(/ {2}first@\d+ {2}\S+/)
  const one = await says(context => decisions(context, 'second', { limit: 1 }))
  expect(one.stdout).toContain('Ship')
  expect(one.stdout).not.toContain('Where')
  expect((await says(context => decisions(context, undefined, { limit: 2 }))).stdout).not.toContain('postgres')
})
