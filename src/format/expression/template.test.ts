import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../domain/json.ts'
import { compile, evaluate as evaluateCompiled } from './expression.ts'
import {
  type Evaluate,
  parseTemplate,
  resolve,
  resolveArgv,
  resolveScript,
  resolveText,
  templateExpressions,
} from './template.ts'

const inputs: Json = { n: 3, list: [1, 'two'], name: "x'; rm -rf / #", none: null }
const evaluate: Evaluate = source => {
  const compilation = compile(source)
  return compilation.ok ? evaluateCompiled(compilation.compiled, { inputs }) : compilation
}

test('a template is text and expressions in turn', () => {
  expect(parseTemplate("a ${{ inputs.n }} b ${{ {'x': {'y': '}}'}} }}")).toEqual({
    ok: true,
    parts: [
      { type: 'text', text: 'a ' },
      { type: 'expression', source: 'inputs.n', position: 6 },
      { type: 'text', text: ' b ' },
      { type: 'expression', source: "{'x': {'y': '}}'}}", position: 24 },
    ],
  })
  expect(templateExpressions('${{ a }}${{b}}').map(part => part.source)).toEqual(['a', 'b'])
})

test('an expression that is never closed is told, with its place', () => {
  expect(parseTemplate('ab ${{ x')).toMatchObject({ ok: false, position: 3 })
})

test('where only text has a meaning, as in an edit, a list is text too', () => {
  const resolved = resolve({ create: '${{ inputs.list }}', all: true }, evaluate, resolveText)
  expect(resolved).toEqual({ ok: true, value: { create: '[1,"two"]', all: true } })
})

test('a value alone keeps its type; among text it becomes text', () => {
  const value = {
    a: '${{ inputs.n }}',
    b: ['n = ${{ inputs.n }}', '${{ inputs.list }}', 'l = ${{ inputs.list }}'],
    c: '[${{ inputs.none }}]',
    d: 5,
  }
  expect(resolve(value, evaluate)).toEqual({
    ok: true,
    value: { a: 3, b: ['n = 3', [1, 'two'], 'l = [1,"two"]'], c: '[]', d: 5 },
  })
})

test('an element of argv stays one argument, whatever it holds', () => {
  expect(resolveArgv(['echo', '${{ inputs.name }}', 'a b'], evaluate)).toEqual({
    ok: true,
    value: ['echo', "x'; rm -rf / #", 'a b'],
  })
})

test('a value never becomes part of a script', () => {
  expect(resolveScript('echo "${{ inputs.name }}" ${HOME} ${{ inputs.list }}', evaluate)).toEqual({
    ok: true,
    value: {
      script: 'echo "${PLANFOLD_VALUE_1}" ${HOME} ${PLANFOLD_VALUE_2}',
      env: { PLANFOLD_VALUE_1: "x'; rm -rf / #", PLANFOLD_VALUE_2: '[1,"two"]' },
    },
  })
})

test('what cannot be evaluated is a failure with its reason', () => {
  for (const one of [
    resolveText('${{ inputs.q }}', evaluate),
    resolve({ a: ['${{ inputs.q }}'] }, evaluate),
    resolveArgv(['${{ inputs.q }}'], evaluate),
    resolveScript('${{ inputs.q }}', evaluate),
  ]) {
    expect(one).toMatchObject({ ok: false, message: "there is no 'q'" })
  }
})

test('NUL cannot be smuggled into arguments or the environment', () => {
  const nul: Evaluate = () => ({ ok: true, value: 'a\0b' })
  expect(resolveArgv(['${{ x }}'], nul).ok).toBe(false)
  expect(resolveScript('${{ x }}', nul).ok).toBe(false)
})

test('a doubled dollar stands for the characters themselves', () => {
  expect(resolveText('ref: $${{ github.ref }}', evaluate)).toEqual({ ok: true, value: 'ref: ${{ github.ref }}' })
})

test('text without an expression is left alone', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter(text => !text.includes('${{')),
      text => void expect(resolveText(text, evaluate)).toEqual({ ok: true, value: text }),
    ),
  )
})
