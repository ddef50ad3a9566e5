import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ACTIONS } from '../../../domain/actions/actions.ts'
import type { Capability } from '../../../operations/upkeep/capabilities.ts'
import { newPlace } from '../../place.fixture.ts'
import { listCapabilities } from './doctor.ts'

it('every runner says what it does, what it risks and what a dry run shows, with the schema of its action', async () => {
  const place = await newPlace()
  onTestFinished(() => place.remove())
  const said = await place.say(listCapabilities, { json: true, environment: { PATH: '/nonexistent' } })
  const { items } = (JSON.parse(said.stdout) as { data: { items: readonly Capability[] } }).data
  const acting = Object.entries(ACTIONS).flatMap(([type, facts]) => ('acts' in facts && facts.acts ? [type] : []))
  expect(items.map(({ action }) => action).toSorted()).toEqual([...acting, 'decide', 'model'].toSorted())
  for (const { action, does, effects, dryRun, schema } of items) {
    expect([action, does !== '', effects.length > 0, dryRun !== '']).toEqual([action, true, true, true])
    expect([action, Object.keys(schema).length > 0]).toEqual([action, true])
  }
  // There is no git on this path, and no model was named.
  const works = Object.fromEntries(items.map(({ action, works }) => [action, works]))
  expect(works).toMatchObject({
    edit: 'yes',
    http: 'yes',
    db: 'yes',
    git: 'no',
    model: 'no',
    agent: 'no',
    runner: 'no',
  })
  expect(items.find(({ action }) => action === 'git')?.repair).toContain('install')
  // Looking makes no state folder.
  expect(existsSync(join(place.folder, '.planfold'))).toBe(false)
})
