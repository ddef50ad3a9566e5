import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Analysis, analyze } from '../../domain/analysis/analyze.ts'
import type { JsonObject } from '../../domain/json.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { printYaml } from '../../format/plan/print.ts'
import { instantiate } from './instantiate.ts'
import { exampleOf } from './parameters.ts'
import { GOLDEN, STOCK, stockTemplate } from './stock.fixture.ts'

const fixtures = resolve(import.meta.dirname, '../../../test/fixtures/templates')

/** Of the plans of each stock template: with the values of its golden plan, with its examples, with the least it needs. */
const HASHES: { readonly [name: string]: readonly string[] } = {
  debug: [
    '62814715f6b103499a80ef5a8caa570aaf65158684452b75ea03c427d815c1a6',
    '97ca1366f228d88a14b8bd75c5a2ca5503fff5f3f36d73a300e976e8454c3176',
    '6e533f9fbed100a7788f7cd8106ead596d8abb44fd010843bb8b0cf67602734f',
  ],
  'dependency-upgrade': [
    'f217cd93ebb3e9300ccfa512654232c3309871e306d2b06d4b13271d5de5b884',
    'd7bd9f8a7c8139aa41bfc298df380402abbcd65ac58df5de24d91d1ba40532bf',
    'f7153cae65c0fab6c48f85c5ed1b56a7d66123baee6a68afd6a1962576c33762',
  ],
  'feature-with-tests': [
    '9f6284c45aedacaf2dfc68145124add7f84bb9e76ea19b08e584438971887374',
    '5c8c43e7a93e18c0a4f6db997e27697bc65fa2932d7a6359c51708879b3cc8ec',
    'b4ed61435ebcecbc5709f52a5e1e24f692eac31a49bff683a0e3b8ac7b687cf9',
  ],
  'incident-postmortem': [
    '8ad90aef7c4b129c15cf4729e9c51e57b1cecd181950644831317750dcef9faf',
    '092ef854626bbb56b543b69317432305421673ea1e247a642314cb508e7c5d3e',
    '3d78cbf636af25a2e53d0111b852eec76e805aa650fa47c669b879b8dce9abc7',
  ],
  'multi-file-refactor': [
    '831354165241edab2626debec26d029c070599190cb309509b6959e74c44bbf2',
    '5e0f390c830406506190081df69999f9bce8d910472d1b52f4310403a1b50463',
    '395ae3a564519db3ca6cc451a25c750ae6bbc66e82d26ab29b0f77011c9e9be8',
  ],
  'research-then-build': [
    '76a0b87ed1fa419917e997c814e776f10163f2c98fb95f2574e2f8d6a203a296',
    'b46473e7af7d068c48613cd0c2b8e349d6e9864e72939a8432cf41981f0572db',
    'f01b739e2f83dd81a3e4d08d36b01de9833cdb2fa1172f17001f7c64e5de9ded',
  ],
  'research-then-implement': [
    '81c68c3fd39b289d54dc39549de570feff2dfd3b3f19332bf9021cd66409f401',
    '774403cdd9c3dae42cb5a3d6b0a9b08e3372469b4d11462b42720e5a3fe8a2cc',
    '9f8ffe350ea2794dda53435b9549776732638c54389b614d6b5dadbee3a0ca63',
  ],
  'staged-rollout': [
    '0f9f0a249af01b36df29bf4522bd84d46ea03f194061eb4a8c33baac767e6e92',
    'db3d5b704d8d6f9b4fb5fd76a32997575777e736272ac2b4658272c52632d5b6',
    '5968c6b7dc147221ef37b29d4e58bebc7b64f4c65fcab7dc4be052d077c52024',
  ],
}

function made(name: string, given: JsonObject) {
  const plan = instantiate(stockTemplate(name), given, { check: checkGraph })
  if (!plan.ok) throw new Error(`${name}: ${JSON.stringify([plan.problems, plan.diagnostics], null, 1)}`)
  return plan
}

const errorsOf = (analysis: Analysis) => analysis.findings.filter(({ severity }) => severity === 'error')

test('there is a template for each of the eight kinds of work', () => {
  expect(STOCK).toEqual([
    'debug',
    'dependency-upgrade',
    'feature-with-tests',
    'incident-postmortem',
    'multi-file-refactor',
    'research-then-build',
    'research-then-implement',
    'staged-rollout',
  ])
})

describe.each(STOCK)('the stock template %s', name => {
  test('can be read without a fault or a warning, and is called like its file', () => {
    const template = stockTemplate(name)
    expect(template.name).toBe(name)
    expect(template.warnings).toEqual([])
    expect(template.parameters.length).toBeGreaterThan(3)
  })

  test('makes the golden plan', () => {
    const text = printYaml(made(name, GOLDEN[name]!).definition)
    const file = resolve(fixtures, `${name}.yaml`)
    if (process.env.PLANFOLD_GOLDEN === 'write') writeFileSync(file, text)
    expect(text).toBe(readFileSync(file, 'utf8'))
    const again = parsePlan(text, { check: checkGraph })
    expect(again.ok && again.definition).toEqual(made(name, GOLDEN[name]!).definition)
  })

  test('makes the plans it has always made, but for the hash of the template', () => {
    const { parameters } = stockTemplate(name)
    const examples = Object.fromEntries(parameters.map(parameter => [parameter.name, exampleOf(parameter)]))
    const least = Object.fromEntries(
      parameters.filter(({ required }) => required).map(parameter => [parameter.name, exampleOf(parameter)]),
    )
    const hashes = [GOLDEN[name]!, examples, least].map(given => {
      const { extra, ...plan } = made(name, given).definition
      const { hash: _, ...origin } = (extra as JsonObject).template as JsonObject
      return createHash('sha256')
        .update(canonicalJson({ ...plan, extra: { ...extra, template: origin } } as unknown as JsonObject))
        .digest('hex')
    })
    expect(hashes).toEqual(HASHES[name])
  })

  test('makes plans without a finding that is an error, with its examples and with the least that may be given', () => {
    const { parameters } = stockTemplate(name)
    const examples = Object.fromEntries(parameters.map(parameter => [parameter.name, exampleOf(parameter)]))
    const least = Object.fromEntries(
      parameters.filter(({ required }) => required).map(parameter => [parameter.name, exampleOf(parameter)]),
    )
    for (const given of [GOLDEN[name]!, examples, least]) {
      const { definition, warnings } = made(name, given)
      expect(warnings.filter(({ message }) => message.includes('no longer needs'))).toEqual([])
      expect(errorsOf(analyze(definition))).toEqual([])
    }
  })

  test('says how each task is judged, and how what changes something is undone', () => {
    const worrying = ['no-acceptance', 'no-rollback', 'ungated', 'unreachable', 'impossible-outcome', 'too-many-tasks']
    const { findings } = analyze(made(name, GOLDEN[name]!).definition)
    expect(findings.filter(({ code }) => worrying.includes(code))).toEqual([])
  })
})
