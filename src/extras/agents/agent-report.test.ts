// What an agent says at the end becomes the outputs that its task declares.

import { describe, expect, test } from 'vitest'
import { answerIn, answerText, reportedOutputs, reportText } from './agent-report.ts'

describe('what an agent says last', () => {
  const outputs = (...names: string[]) => ({
    outputs: Object.fromEntries(names.map(name => [name, { from: 'report' as const }])),
  })

  test('is the output that its task declares', () => {
    expect(reportedOutputs(outputs('cause'), 'It is {odd}.')).toEqual({ cause: 'It is {odd}.' })
    expect(reportedOutputs({}, 'said')).toEqual({})
    expect(reportText(outputs('cause')).join()).toContain("'cause'")
  })

  test('is taken apart where there are several', () => {
    const two = outputs('before', 'command')
    expect(reportText(two).join()).toContain('"before", "command"')
    const said = 'Here:\n```json\n{ "before": "3 s", "command": "time make" }\n```\n'
    expect(reportedOutputs(two, said)).toEqual({ before: '3 s', command: 'time make' })
    expect(reportedOutputs(two, '{ "before": 1 }')).toEqual({ before: 1, command: '{ "before": 1 }' })
    expect(reportedOutputs(two, 'no idea')).toEqual({ before: 'no idea', command: 'no idea' })
  })
})

describe('the answer at the end', () => {
  const shape = { verdict: 'pass | fail', 'line?': 'integer' }

  test('is the last JSON object of that shape, with words around it or not', () => {
    expect(answerText(shape)).toContain(JSON.stringify(shape))
    expect(answerIn(shape, '{"verdict":"pass"}')).toEqual({ ok: true, value: { verdict: 'pass' } })
    expect(answerIn(shape, 'So:\n```json\n{"verdict":"fail","line":3}\n```')).toEqual({
      ...{ ok: true, value: { verdict: 'fail', line: 3 } },
    })
  })

  test('is refused with the reason where it is not', () => {
    expect(answerIn(shape, 'It is fine.')).toEqual({ ok: false, why: 'there is no JSON object in it' })
    expect(answerIn(shape, '{"verdict":"perhaps"}')).toMatchObject({
      ok: false,
      why: expect.stringContaining('verdict'),
    })
    expect(answerIn(shape, '{"verdict":"pass","more":1}')).toMatchObject({ ok: false })
  })
})
