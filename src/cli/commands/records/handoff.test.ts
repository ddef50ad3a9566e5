// What a handoff prints is text to read; what it writes is Markdown, in which the words of others stay words.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { newPlace, type Place } from '../../place.fixture.ts'
import { run } from '../plans/run.ts'
import { handoff } from './handoff.ts'

let place: Place
beforeEach(async () => {
  place = await newPlace()
})
afterEach(async () => await place.remove())

test('prints text as it was written, and writes Markdown', async () => {
  const title = 'Ask <ana@example.com> & see https://example.com/a_b (part *1*)'
  await place.write(
    'plan.yaml',
    `planfold: 1
name: words
title: "${title}"
tasks:
  - { id: look, title: "x < y && y > z\u202e", run: [echo, hi], effect: pure }
`,
  )
  expect((await place.say(context => run(context, 'plan.yaml', { start: true }))).exit).toBe(0)
  const { stdout } = await place.say(context => handoff(context, 'words', {}))
  expect(stdout.split('\n')[0]).toBe(`# ${title}`)
  expect(stdout).toContain(`# Postmortem: ${title}\n`)
  expect(stdout).toContain('x < y && y > z\\u{202e}')
  expect(stdout).not.toMatch(/&(?:lt|gt|amp|#\d+);|<!--/)
  await place.say(context => handoff(context, 'words', { out: 'out' }))
  const readme = await place.read('out/README.md')
  expect(readme).toMatch(/^<!-- planfold handoff -->\n/)
  expect(readme).not.toContain('<ana')
})
