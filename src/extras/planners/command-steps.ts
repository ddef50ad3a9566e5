// Steps for goals about commands: a failing check, a dependency update, a staged deployment. Their texts use the commands and
// files found, and the goal's own words.

import type { Toolchain } from './found-commands.ts'
import type { GoalWords } from './goal.ts'
import type { JudgedGoal } from './goal-kind.ts'
import type { EndCheck } from './kinds/end-check.ts'
import { roleOf } from './ranking/file-role.ts'
import { auditIn, namedDependency, updateCommand, usersOf } from './toolchain/dependency.ts'
import type { WorkStep } from './work-steps.ts'

type CommandKind = 'failing-command' | 'dependency-update' | 'rollout'

export interface CommandStepsInput {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly toolchain: Toolchain
  readonly ends: readonly EndCheck[]
  readonly texts: ReadonlyMap<string, string>
}

const looks = { kind: 'research', scope: 'nothing', proof: 'report' } as const

/** The steps that depend on the kind alone. */
export const COMMAND_STEPS: { readonly [kind in CommandKind]: readonly WorkStep[] } = {
  'failing-command': [
    {
      id: 'fix',
      title: 'Make the commands succeed',
      kind: 'implement',
      why: 'The change itself. What the commands print names the place.',
      instruction:
        'Run each of these commands, and correct in the source what it complains about. If all of them succeed already, change nothing and end with that.\nNever weaken a check so that it passes: leave the settings of linter, compiler and tests, the workflow files and the scripts of the checks as they are, add no ignore comments, skip no test. If the cause lies there, end with that instead.',
      scope: 'both',
      proof: 'end',
      minutes: 30,
      risks: ['a check can be made to pass by weakening it: look for ignore comments and skipped tests in the review'],
    },
  ],
  'dependency-update': [
    {
      ...looks,
      id: 'read-changes',
      title: 'Read what changes between the versions',
      why: 'What breaks is known before it breaks.',
      instruction:
        'Read the release notes from the version used now to the new one. End with the version to take, what breaks in it, and where that is used here.',
      minutes: 15,
      reports: 'changes',
    },
    {
      id: 'update',
      title: 'Update the dependency',
      kind: 'chore',
      why: 'The version and the lock file change together, and apart from the source.',
      instruction: 'Change the version with the package manager, so that the lock file fits. Change no source yet.',
      scope: 'manifest',
      proof: 'end',
      minutes: 10,
      network: { allow: [], unknown: 'ask' },
    },
    {
      id: 'adapt',
      title: 'Adapt the source to the new version',
      kind: 'implement',
      why: 'Whatever the new version broke is corrected here.',
      instruction:
        'Run the tests. Change what the new version demands, and nothing else; where nothing broke, change nothing.',
      scope: 'both',
      proof: 'green',
      minutes: 30,
    },
  ],
  rollout: [
    {
      ...looks,
      id: 'prepare',
      title: 'Say how it is deployed, measured and taken back',
      why: 'A rollout that cannot be measured or taken back is no rollout in stages.',
      instruction: 'From the repository, its documentation and its CI. Change and deploy nothing yet.',
      minutes: 20,
      reports: 'steps',
    },
  ],
}

/** The steps of a goal about commands; null for other kinds. */
export function commandSteps(input: CommandStepsInput): readonly WorkStep[] | null {
  const { judged, ends } = input
  if (judged.kind === 'rollout') return rolloutSteps(input)
  if (judged.kind === 'dependency-update') return updateSteps(input)
  if (judged.kind !== 'failing-command') return null
  const commands = ends.flatMap(({ script, command }) =>
    command === undefined ? [] : `- \`${script}\` (${command.from})`,
  )
  return COMMAND_STEPS['failing-command'].map(step => ({
    ...step,
    title: commands.length === 1 ? 'Make the command succeed' : step.title,
    instruction: `${step.instruction}\n\nThe commands; 'baseline' recorded how each ended before the work:\n${commands.join('\n')}`,
  }))
}

function updateSteps({ goal, texts }: CommandStepsInput): readonly WorkStep[] {
  const found = namedDependency({ goal, texts })
  const [read, update, adapt] = COMMAND_STEPS['dependency-update'] as readonly [WorkStep, WorkStep, WorkStep]
  if (found === null) return [read, update, adapt]
  const { name, version, current, manifest, manifests, isDirect, lock } = found
  const target = version ?? 'the newest version that the tests accept'
  const today = current.length === 0 ? 'the version used now' : current.join(' and ')
  const audit = auditIn(goal)
  const users = usersOf(found, texts)
  return [
    {
      ...read,
      title: `Read what changes in ${name}`,
      instruction: `Read the release notes of ${name} from ${today} to ${target}. End with the version to take, what breaks in it, and where ${name} is used here.${isDirect ? '' : ` ${manifest} does not ask for ${name}: say which dependency brings it in, too.`}`,
    },
    {
      ...update,
      title: `Update ${name}${version === null ? '' : ` to ${version}`}`,
      instruction: [
        `Update ${name} to ${target}: ${updateCommand(found)}. ${lock === null ? `Change ${manifests.join(' and ')}` : `Let the package manager write ${lock}`}, and no source yet.`,
        ...(/(^|\/)package\.json$/.test(manifest) && lock !== null
          ? [
              'Where node_modules cannot be written, let it change the lock file alone (`--package-lock-only`, `--lockfile-only`).',
            ]
          : []),
        ...(audit === null
          ? []
          : [`Then run \`${audit}\` if it can reach its database, and end with what it says about ${name}.`]),
      ].join(' '),
      ...(audit === null ? {} : { reports: 'audit' }),
    },
    {
      ...adapt,
      // Tests that do not load the dependency show what must keep working.
      scope:
        users.some(path => roleOf(path) !== 'test') && !users.some(path => roleOf(path) === 'test')
          ? 'sources'
          : 'both',
      instruction: `${adapt.instruction}${users.length === 0 ? '' : ` ${name} is used in ${users.slice(0, 10).join(', ')}.`}`,
    },
  ]
}

const STAGED =
  /\bcanar(y|ies)\b|\b(staged|gradual\w*|phased|progressive\w*|step by step|in stages)\b|\broll\w*[- ]?out\b[^.]*%/i

/** A staged deployment with the stages the goal names, or one small part if it names none; empty if the goal wants no stages. */
export function rolloutSteps({ goal, judged, toolchain }: CommandStepsInput): readonly WorkStep[] {
  if (judged.kind !== 'rollout' && !STAGED.test(goal.wanted)) return []
  const sentences = sentenceOf(goal.wanted)
  const stages = stagesIn(goal.wanted)
  const measured = measureIn(goal.wanted)
  const how =
    toolchain.deploy === null
      ? "the project's own way to deploy, as 'prepare' reported it"
      : `\`${toolchain.deploy}\`, as 'prepare' reported`
  const deploys = {
    kind: 'deploy',
    scope: 'nothing',
    proof: 'report',
    minutes: 15,
    risks: ['irreversible: what users saw or wrote in between stays'],
    rollback: "the version before is deployed again, as 'prepare' reported",
    reports: 'done',
  } as const
  const [prepare] = COMMAND_STEPS.rollout
  return [
    {
      ...prepare!,
      instruction: `${prepare!.instruction} End with: the command that deploys (${toolchain.deploy ?? 'to be found'}); how ${stages.join(', then ')} of the traffic is chosen; how to ${measured}; how each stage is taken back, as a command.`,
    },
    ...stages.flatMap((stage, index): readonly WorkStep[] => {
      const id = `canary${stages.length === 1 ? '' : `-${index + 1}`}`
      return [
        {
          ...deploys,
          id,
          title: `Deploy to ${stage}`,
          why: `The goal says: ${sentences}`,
          instruction: `Deploy to ${stage} of the traffic and nothing more, with ${how}. End with what was done and how it is taken back.`,
          approval: approvalOf(`May it be deployed to ${stage}?`, sentences, index > 0),
        },
        {
          ...looks,
          id: `compare${id.slice('canary'.length)}`,
          title: `Look at the new version at ${stage}`,
          kind: 'measure',
          why: 'Whether it goes on is decided by numbers.',
          instruction: `At ${stage}: ${measured}, of the new version and of the version before, over the same time. End with the numbers, where they come from, and whether you would go on.`,
          minutes: 30,
          reports: 'comparison',
        },
      ]
    }),
    {
      ...deploys,
      id: 'rollout',
      title: 'Deploy to everybody',
      why: `The goal says: ${sentences}`,
      instruction: `Deploy to all of the traffic, with ${how}. End with what was done and how it is taken back.`,
      approval: approvalOf('Go on to everybody, or back?', sentences, true),
    },
    {
      ...looks,
      id: 'watch',
      title: 'Watch it after the rollout',
      kind: 'measure',
      why: 'Some faults show only under the whole load.',
      instruction: `With all of the traffic: ${measured} once more, against the numbers from before. Take the rollout back if they are worse. End with the numbers.`,
      minutes: 30,
      reports: 'numbers',
    },
    {
      ...deploys,
      id: TAKE_BACK,
      title: 'Take the new version back',
      why: 'Runs only when somebody decides against going on.',
      instruction:
        "Deploy the version before to all of the traffic again, as 'prepare' reported. End with what shows that it is as it was.",
      isAside: true,
    },
  ]
}

const TAKE_BACK = 'take-back'

const approvalOf = (title: string, reason: string, isBegun: boolean): NonNullable<WorkStep['approval']> => ({
  title,
  why: `The goal says: ${reason} A person decides right before it${isBegun ? ', from the numbers of the stage before' : ''}. It is taken back as 'prepare' reported${isBegun ? '; a rejection does that' : ''}.`,
  ...(isBegun ? { rejected: TAKE_BACK } : {}),
})

function sentenceOf(text: string): string {
  const all = text.split(/(?<=[.!?])\s+|\n+/).map(one => one.trim())
  const sentence = all.find(one => STAGED.test(one) || /\bdeploy|roll|releas/i.test(one)) ?? all[0] ?? ''
  return `'${sentence.replace(/[.!]+$/, '').slice(0, 300)}'.`
}

/** For example `5 %, 25 %`; without measured limits (`errors below 1 %`) and the final 100 %. */
function stagesIn(text: string): readonly string[] {
  const found = [...text.matchAll(/(\d+(?:[.,]\d+)?)\s?(?:%|percent\b)/g)].filter(({ index }) => {
    const before = text.slice(Math.max(0, index - 25), index)
    return !/\b(below|under|above|over|less than|more than|exceeds?|within|by|than|errors?|rates?|is|are|stays?|[<>]=?)\s*$/i.test(
      before,
    )
  })
  const parts = [...new Set(found.map(match => Number(match[1]!.replace(',', '.'))))].filter(
    part => part > 0 && part < 100,
  )
  return parts.length === 0 ? ['a small part'] : parts.sort((a, b) => a - b).map(part => `${part} %`)
}

/** What the goal wants to be measured, in its own words. */
const measureIn = (text: string): string =>
  /\b(?:compare|measure|monitor|watch|check|verify|observe)\b[^.;\n]{3,150}/i
    .exec(text)?.[0]
    .trim()
    .replace(/^\w/, first => first.toLowerCase()) ?? 'compare error rate and latency'
