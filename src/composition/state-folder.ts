// Where the workspace and the state folder are, and how a new state folder is made.

import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isDatabaseUrl } from '../format/text/database-url.ts'
import { makeFolder } from '../safety/files/directory.ts'
import { shellWord } from '../safety/text/terminal.ts'
import { type Environment, nonEmpty } from './environment.ts'

export interface StatePlace {
  /** The folder the person is in; the workspace root is found upwards from here. */
  readonly cwd: string
  readonly environment: Environment
  /** `--dir`: the state folder, instead of the nearest `.planfold`. */
  readonly dir?: string
  /** The workspace, when it is not to be found upwards from `cwd`. */
  readonly root?: string
}

/** `--dir`, `PLANFOLD_DIR`, a folder in `PLANFOLD_DATABASE`, the nearest `.planfold` upwards, else the git root, else here. */
export function locate(options: StatePlace): {
  readonly root: string
  readonly stateDir: string
} {
  if (options.root !== undefined) {
    const { root: _, ...rest } = options
    const root = resolve(options.cwd, options.root)
    const given = givenFolder(options)
    return { root, stateDir: given === undefined ? join(root, '.planfold') : locate(rest).stateDir }
  }
  const cwd = resolve(options.cwd)
  const given = givenFolder(options)
  const found = upwards(cwd, folder => isFolder(join(folder, '.planfold')))
  const base = found ?? upwards(cwd, folder => existsSync(join(folder, '.git'))) ?? cwd
  if (given === undefined) return { root: base, stateDir: join(base, '.planfold') }
  const stateDir = resolve(cwd, given)
  // A state folder called `.planfold` belongs to the folder it stands in; any other serves the project we stand in.
  return { root: stateDir.endsWith('/.planfold') ? dirname(stateDir) : base, stateDir }
}

/** PLANFOLD_DATABASE may name a folder, or the planfold.db in it. */
function givenFolder({ dir, environment }: StatePlace): string | undefined {
  const database = nonEmpty(environment.PLANFOLD_DATABASE)
  const named = database === undefined || isDatabaseUrl(database) ? undefined : database.replace(/\/planfold\.db$/, '')
  return dir ?? nonEmpty(environment.PLANFOLD_DIR) ?? named
}

/** Private to its owner, and ignored by git through a file of its own. Never a folder with other people's files in it. */
export function makeStateDir(stateDir: string): void {
  const isOurs = stateDir.endsWith('/.planfold') || existsSync(join(stateDir, 'planfold.db'))
  if (!isOurs && isFolder(stateDir) && readdirSync(stateDir).some(name => !OWN_FOLDERS.has(name)))
    throw new BadConfiguration(
      `${stateDir} holds other files, so it cannot be the folder for Planfold's state`,
      `--dir names the state folder itself; of a project in that folder it is: --dir ${shellWord(join(stateDir, '.planfold'))}`,
    )
  makeFolder(stateDir, 0o700)
  const ignore = join(stateDir, '.gitignore')
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
}

/** What may stand in a state folder before there is a store. */
const OWN_FOLDERS: ReadonlySet<string> = new Set([
  '.gitignore',
  'templates',
  'sessions',
  'codes',
  'server',
  'scratch',
  'models',
  'config.yaml',
  'workspace-id',
])

/** Known by its name to whoever prints it. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** There is no `.planfold` folder from here upwards, and none was to be made. */
export class NoState extends Error {
  override readonly name = 'NoState'
}

function upwards(from: string, test: (folder: string) => boolean): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    if (test(folder)) return folder
    if (dirname(folder) === folder) return null
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
