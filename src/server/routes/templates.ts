// Templates over HTTP: stock and saved ones, and plans made from them.

import { join } from 'node:path'
import { isPlanName } from '../../domain/id.ts'
import type { TemplateItem, Template as TemplateShown } from '../../format/wire/answers/templates.ts'
import * as wire from '../../format/wire/templates.ts'
import {
  findTemplate,
  keepTemplate,
  planFromTemplate,
  planToSave,
  printAsTemplate,
  readTemplateFile,
  type Shelved,
  shelfWith,
  type Template,
} from '../../operations/templates.ts'
import { refuseScoped } from '../auth/denial-text.ts'

import { faulty } from '../documents/read-document.ts'
import { findPlan } from '../find-plan.ts'
import { invalidRequest, isProblem, notFound, type Problem, problem } from '../problem.ts'
import { created, ok, route } from '../route.ts'
import type { RouteRooms } from '../service.ts'
import { gone } from '../submit-order.ts'
import { makePlan } from './plans.ts'

export const templateRoutes = [
  route({
    method: 'GET',
    path: '/templates',
    right: 'read',
    about: 'All templates there are, by name; one that cannot be used says why.',
    answers: { 200: { about: 'all of them', body: 'TemplatePage' } },
    handle: async ({ rooms }) => {
      const items: TemplateItem[] = []
      for (const shelved of await shelfWith(folderOf(rooms))) items.push(await listed(shelved))
      return ok({ items, next: null })
    },
  }),
  route({
    method: 'GET',
    path: '/templates/:template',
    right: 'read',
    about: 'One template, with its parameters and its document.',
    answers: { 200: { about: 'the template', body: 'Template' } },
    handle: async ({ rooms, params }) => {
      const found = await find(rooms, params.template!)
      return isProblem(found) ? found : ok(shown(found.shelved, found.template))
    },
  }),
  route({
    method: 'POST',
    path: '/templates',
    right: 'operate',
    about: 'Saves a plan as a template; values of the plan may become parameters.',
    body: wire.newTemplate,
    answers: { 201: { about: 'the template', body: 'TemplateSaved' } },
    handle: async call => {
      const { plan_id, name, parameters = {}, replace = false } = call.body
      const refusal = refuseScoped(call)
      if (refusal !== null) return refusal
      const plan = await findPlan(call, plan_id)
      if (isProblem(plan)) return plan
      const current = await planToSave(call.engine, plan.plan)
      if (current === null) return gone()
      const ask = { name, parameters: Object.entries(parameters), tasksMax: TEMPLATE_TASKS_MAX }
      const printed = printAsTemplate(current.definition, ask)
      if (printed.status === 'too-large') return TOO_LARGE
      if (printed.status === 'unfit') return problem(422, 'invalid', printed.message, { hint: printed.hint })
      const { template } = printed
      const kept = await keepTemplate(folderOf(call.rooms), template, { replace })
      if (kept.status === 'taken' && !kept.isSame)
        return problem(409, 'exists', `there is a template '${name}' already`, {
          hint: "choose another name, or say 'replace'",
        })
      const found = await find(call.rooms, name)
      if (isProblem(found)) return found
      return created({ ...shown(found.shelved, found.template), notes: template.notes }, `/templates/${name}`)
    },
  }),
  route({
    method: 'POST',
    path: '/templates/:template/plans',
    right: 'operate',
    about: 'Makes a plan of a template and the values for its parameters.',
    body: wire.fromTemplate,
    answers: { 201: { about: 'the plan', body: 'PlanMade', tag: true } },
    handle: async call => {
      const found = await find(call.rooms, call.params.template!)
      if (isProblem(found)) return found
      const { values = {}, name, goal_id, agent_id, session_id, start = false } = call.body
      if (name !== undefined && !isPlanName(name))
        return invalidRequest('body', [
          { path: 'name', message: 'cannot be a name', hint: 'use letters, digits and - _ .' },
        ])
      const made = planFromTemplate(found.template, values, { name })
      if (!made.ok && made.problems.length > 0)
        return invalidRequest(
          'body',
          made.problems.map(({ parameter, message, hint }) => ({ path: `values.${parameter}`, message, hint })),
        )
      if (!made.ok) return faulty(made.diagnostics, `the template '${found.template.name}', `)
      const { definition, warnings } = made
      const beside = { goal: goal_id ?? undefined, agent: agent_id ?? undefined, session: session_id ?? undefined }
      return await makePlan(call, { definition, warnings, start, written: 'others', ...beside })
    },
  }),
]

/** Templates are loaded whole whenever they are listed; this keeps it under a fraction of a second. */
const TEMPLATE_TASKS_MAX = 2_000

const TOO_LARGE = problem(422, 'limit', `a template has at most ${TEMPLATE_TASKS_MAX} tasks`, {
  hint: 'keep the plan itself: GET /plans/PLAN?as=planfold, and POST it again',
})

const folderOf = ({ stateDir }: RouteRooms): string => join(stateDir, 'templates')

async function find(
  rooms: RouteRooms,
  name: string,
): Promise<{ readonly shelved: Shelved; readonly template: Template } | Problem> {
  const found = await findTemplate(folderOf(rooms), name)
  switch (found.status) {
    case 'found':
      return found
    case 'unknown':
      return notFound(
        `there is no template '${name.slice(0, 100)}'`,
        found.near === null ? 'list them: GET /templates' : `did you mean '${found.near}'?`,
      )
    case 'unusable': {
      const { diagnostics, message } = found.why
      const about = `the template '${name}' cannot be used: `
      return diagnostics.length === 0
        ? problem(422, 'invalid-plan', about + plain(message))
        : faulty(diagnostics, about)
    }
    default:
      return found satisfies never
  }
}

async function listed(shelved: Shelved): Promise<TemplateItem> {
  const { name, origin, hides } = shelved
  const read = await readTemplateFile(shelved)
  if (!read.ok)
    return {
      name,
      origin,
      hides,
      title: null,
      about: null,
      template_version: null,
      hash: null,
      parameters: [],
      fault: plain(read.message),
    }
  const { parameters, document: _, ...body } = shown(shelved, read.template)
  return { ...body, parameters: parameters.map(one => one.name), fault: null }
}

function shown({ name, origin, hides }: Shelved, template: Template): TemplateShown {
  const { title, about, version, hash, text, parameters } = template
  return {
    name,
    origin,
    hides,
    title,
    about,
    template_version: version,
    hash,
    parameters: parameters as unknown as TemplateShown['parameters'],
    document: text,
  }
}

const plain = (message: string): string => message.replaceAll(/\S*\/(\S+\.yaml)/g, '$1')
