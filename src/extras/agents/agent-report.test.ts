// What an agent says at the end becomes the outputs that its task declares.

import { describe, expect, test } from 'vitest'
import { reportedOutputs, reportText } from './agent-report.ts'

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
