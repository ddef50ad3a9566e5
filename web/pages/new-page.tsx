// A new plan: from a goal in plain words, from a template, or from text. It stays a draft until it is started.

import '../styles/new.css'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import {
  checkText,
  createFromGoal,
  createFromTemplate,
  createFromText,
  showTemplate,
  type TemplateParameter,
} from '../data/api.ts'
import { templates, useRights } from '../data/queries.ts'
import { OrderButton } from '../parts/button.tsx'
import { Faults, useRested } from '../parts/checked-text.tsx'
import { CommandLine, commandOf, withKey } from '../parts/command.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { AwayBar, LivePill, Skeleton, Trouble } from '../parts/states.tsx'
import { useWork } from '../parts/use-work.ts'
import { count } from '../parts/words.ts'

const WAYS = [
  { from: 'goal', word: 'From a goal' },
  { from: 'template', word: 'From a template' },
  { from: 'text', word: 'From text' },
] as const

export default function NewPage() {
  const { from = 'goal' } = useSearch({ from: '/new' })
  const { operate } = useRights()
  useEffect(() => {
    document.title = 'New plan · Planfold'
  }, [])
  return (
    <main>
      <header className="top">
        <h1>New plan</h1>
        <span className="space" />
        <LivePill />
      </header>
      <AwayBar />
      <div className="new">
        <nav className="ways" aria-label="How to begin">
          {WAYS.map(one => (
            <Link
              key={one.from}
              to="/new"
              search={{ from: one.from }}
              className={one.from === from ? 'on' : ''}
              aria-current={one.from === from ? 'page' : undefined}
            >
              {one.word}
            </Link>
          ))}
        </nav>
        {!operate && <p className="dim">You can see plans here, but not create them.</p>}
        {from === 'goal' ? <FromGoal /> : from === 'template' ? <FromTemplate /> : <FromText />}
      </div>
    </main>
  )
}

function useCreating() {
  const navigate = useNavigate()
  const { busy, error, work } = useWork()
  const create = (doing: () => Promise<{ readonly name: string }>): Promise<void> =>
    work(async () => {
      const { name } = await doing()
      await navigate({ to: '/plans/$plan', params: { plan: name } })
    })
  return { busy, error, create }
}

const GOALS = [
  'Add a --json flag to the list command',
  'Fix the failing test in src/',
  'Rename the function parse to read everywhere',
]

function FromGoal() {
  const { busy, error, create } = useCreating()
  const [goal, setGoal] = useState('')
  const submit = (): void => {
    if (goal.trim() !== '') void create(() => createFromGoal(goal.trim()))
  }
  return (
    <form
      className="new-form"
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      <label className="label">
        What do you want done?
        <textarea
          className="field goal-field"
          rows={4}
          // biome-ignore lint/a11y/noAutofocus: the page has one purpose.
          autoFocus
          value={goal}
          placeholder="In plain words, as you would tell a colleague"
          onChange={event => setGoal(event.target.value)}
          onKeyDown={event => {
            if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit()
          }}
        />
        <small>Planfold looks at the workspace and drafts the steps. You see them before anything runs.</small>
      </label>
      <div className="examples">
        {GOALS.map(text => (
          <button key={text} type="button" className="chip" onClick={() => setGoal(text)}>
            {text}
          </button>
        ))}
      </div>
      {error !== null && <Trouble error={error} />}
      <div className="new-acts">
        <OrderButton type="submit" kind="main" disabled={busy || goal.trim() === ''}>
          {busy ? 'Drafting…' : 'Draft the plan'}
          <kbd>{withKey('↵')}</kbd>
        </OrderButton>
        <CommandLine command={commandOf('plan', goal.trim() === '' ? 'the goal' : goal.trim())} />
      </div>
    </form>
  )
}

function FromTemplate() {
  const { template } = useSearch({ from: '/new' })
  const { data, error } = useQuery(templates)
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={140} />
  if (template !== undefined) return <TemplateForm key={template} name={template} />
  return (
    <ul className="templates">
      {data.map(({ name, title, about, fault }) => (
        <li key={name}>
          <Link to="/new" search={{ from: 'template', template: name }} disabled={fault !== null}>
            <b className="mono">{name}</b>
            <span>{fault ?? title ?? ''}</span>
            {about !== null && <small className="dim">{about}</small>}
          </Link>
        </li>
      ))}
    </ul>
  )
}

function TemplateForm({ name }: { readonly name: string }) {
  const { data, error } = useQuery({ queryKey: ['template', name], queryFn: () => showTemplate(name) })
  const { busy, error: refused, create } = useCreating()
  const [values, setValues] = useState<{ readonly [name: string]: string }>({})
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={140} />
  const submit = (): void => {
    const given = Object.fromEntries(
      data.parameters.flatMap(one =>
        values[one.name] === undefined || values[one.name] === ''
          ? []
          : [[one.name, readValue(one, values[one.name]!)]],
      ),
    )
    void create(() => createFromTemplate(name, given, undefined))
  }
  return (
    <form
      className="new-form"
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      <div>
        <h2 className="mono">{name}</h2>
        <p className="dim">{data.about ?? data.title}</p>
      </div>
      {data.parameters.map(one => (
        // biome-ignore lint/a11y/noLabelWithoutControl: the control is inside.
        <label key={one.name} className="label">
          <span>
            {one.name} {!one.required && <small className="dim">optional</small>}
          </span>
          {one.values !== undefined ? (
            <select
              className="field"
              value={values[one.name] ?? String(one.default ?? '')}
              onChange={event => setValues({ ...values, [one.name]: event.target.value })}
            >
              {one.values.map(value => (
                <option key={String(value)}>{String(value)}</option>
              ))}
            </select>
          ) : (
            <input
              className="field"
              value={values[one.name] ?? ''}
              required={one.required}
              placeholder={
                one.default === null || one.default === undefined
                  ? ''
                  : typeof one.default === 'string'
                    ? one.default
                    : JSON.stringify(one.default)
              }
              onChange={event => setValues({ ...values, [one.name]: event.target.value })}
            />
          )}
          <small>{one.about}</small>
        </label>
      ))}
      {refused !== null && <Trouble error={refused} />}
      <div className="new-acts">
        <OrderButton type="submit" kind="main" disabled={busy}>
          Create the plan
        </OrderButton>
        <Link to="/new" search={{ from: 'template' }} className="button quiet">
          Another template
        </Link>
      </div>
    </form>
  )
}

function readValue({ type }: TemplateParameter, text: string): unknown {
  if (type === 'number' || type === 'integer') return Number(text)
  if (type === 'boolean') return text === 'true' || text === 'yes'
  if (type === 'list')
    return text
      .split(/[\n,]/)
      .map(one => one.trim())
      .filter(Boolean)
  return text
}

const EXAMPLE = `planfold: 1
name: hello
tasks:
  - id: greet
    run: [echo, "hello"]
`

function FromText() {
  const { busy, error, create } = useCreating()
  const [text, setText] = useState('')
  const rested = useRested(text)
  const checked = useQuery({
    queryKey: ['checked', rested],
    queryFn: () => checkText(rested),
    enabled: rested.trim() !== '',
    retry: false,
  })
  return (
    <form
      className="new-form"
      onSubmit={event => {
        event.preventDefault()
        void create(() => createFromText(text, false))
      }}
    >
      <label className="label">
        The plan
        <textarea
          className="field mono plan-text"
          rows={18}
          spellCheck={false}
          value={text}
          placeholder={EXAMPLE}
          onChange={event => setText(event.target.value)}
        />
        <small>
          YAML or JSON in the format of Planfold, or any format that <code>planfold import --formats</code> lists,
          Markdown checklists too.
        </small>
      </label>
      <div aria-live="polite">
        {error !== null ? (
          <Trouble error={error} />
        ) : rested.trim() === '' ? null : checked.error !== null ? (
          <Faults error={checked.error} />
        ) : checked.data === undefined ? (
          <p className="dim">Checking…</p>
        ) : (
          <>
            <p className="checked">
              <Glyph sign="completed" /> A plan of {count(checked.data.tasks, 'task')}, called{' '}
              <code>{checked.data.name}</code>
            </p>
            {checked.data.warnings.map(({ message, hint }) => (
              <p key={message} className="dim">
                {message}
                {hint === undefined ? '' : ` (${hint})`}
              </p>
            ))}
          </>
        )}
      </div>
      <div className="new-acts">
        <OrderButton type="submit" kind="main" disabled={busy || text.trim() === ''}>
          Create the plan
        </OrderButton>
      </div>
    </form>
  )
}
