// The fields of a question, each as the control that fits its type.

import { useEffect, useRef } from 'react'
import type { Field } from '../../src/domain/plan.ts'

export type Values = { readonly [name: string]: unknown }

export function emptyAnswers(form: readonly Field[]): Values {
  return Object.fromEntries(
    form.flatMap(({ name, type, default: given, choices }) => {
      if (given !== undefined) return [[name, given]]
      if (type === 'boolean') return [[name, false]]
      // A person should not say yes by not looking: `no` first, if it can be chosen.
      const first = choices?.includes('no') ? 'no' : choices?.[0]
      return type === 'choice' && first !== undefined ? [[name, first]] : []
    }),
  )
}

export function AskedForm({
  form,
  values,
  onChange,
}: {
  readonly form: readonly Field[]
  readonly values: Values
  readonly onChange: (values: Values) => void
}) {
  const fields = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Focuses the field at once, but not on a phone, where the keyboard would hide the question.
    if (matchMedia('(pointer: fine)').matches)
      fields.current?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [])
  if (form.length === 0) return null
  const set = (name: string, value: unknown): void => {
    const { [name]: _, ...rest } = values
    onChange(value === undefined ? rest : { ...rest, [name]: value })
  }
  return (
    <div ref={fields} className="form">
      {form.map(field => (
        // biome-ignore lint/a11y/noLabelWithoutControl: the control is inside.
        <label key={field.name} className={field.type === 'boolean' ? 'label row' : 'label'}>
          <span>
            {field.label ?? field.name} {field.optional === true && <small className="dim">optional</small>}
          </span>
          <Control field={field} value={values[field.name]} onChange={value => set(field.name, value)} />
        </label>
      ))}
    </div>
  )
}

function Control({
  field,
  value,
  onChange,
}: {
  readonly field: Field
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}) {
  switch (field.type) {
    case 'boolean':
      return <input type="checkbox" checked={value === true} onChange={event => onChange(event.target.checked)} />
    case 'number':
      return (
        <input
          className="field"
          type="number"
          value={typeof value === 'number' ? value : ''}
          {...(field.min === undefined ? {} : { min: field.min })}
          {...(field.max === undefined ? {} : { max: field.max })}
          onChange={event => onChange(event.target.value === '' ? undefined : event.target.valueAsNumber)}
        />
      )
    case 'choice':
      return (
        <select className="field" value={String(value ?? '')} onChange={event => onChange(event.target.value)}>
          {(field.choices ?? []).map(choice => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )
    case 'list':
      return (
        <textarea
          className="field"
          rows={3}
          placeholder="One per line"
          value={Array.isArray(value) ? value.join('\n') : ''}
          onChange={event =>
            onChange(event.target.value === '' ? undefined : event.target.value.split('\n').filter(line => line !== ''))
          }
        />
      )
    case 'text':
      return (
        <textarea
          className="field"
          rows={2}
          value={typeof value === 'string' ? value : ''}
          onChange={event => onChange(event.target.value === '' ? undefined : event.target.value)}
        />
      )
    default:
      return field.type satisfies never
  }
}
