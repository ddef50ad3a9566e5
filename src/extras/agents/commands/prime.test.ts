// What `planfold prime` prints: nothing of a task that is labelled confidential.

import { expect, it, onTestFinished } from 'vitest'
import { run } from '../../../cli/commands/plans/run.ts'
import { newPlace } from '../../../cli/place.fixture.ts'
import { prime } from './prime.ts'

const LEFT = 'diagnosis-of-ms-smith'

it('tells that a confidential task failed, and not what it printed', async () => {
  const place = await newPlace()
  onTestFinished(() => place.remove())
  await place.write(
    'p.yaml',
    `planfold: 1
name: p
tasks:
  - { id: look, labels: [confidential], effect: pure, run: [echo, ${LEFT}], outputs: { said: stdout } }
  - { id: other, optional: true, labels: [confidential], effect: pure, run: "echo ${LEFT} >&2; exit 3" }
  - { id: work, needs: [look] }
`,
  )
  await place.say(context => run(context, 'p.yaml', { start: true }), { json: true })
  const primed = await place.say(context => prime(context, 'p', { format: 'text' }))
  expect(primed.stdout).toContain('other [failed]')
  expect(primed.stdout).not.toContain(LEFT)
})
