// Paths that no task may write even inside its scope, existing or not: those from which editors, shells, git, agents and build services run
// code automatically, and Planfold's own state. Compared case-folded, because some file systems take `.GIT`, `.g\u200cit` or `git~1` for
// `.git`.

import { foldName } from '../../domain/plan-rules/instruction-file.ts'

/** The rule that protects a path; null for none. `state`: the case-folded path of the state folder inside the workspace, if it is there. */
export function protectedBy(components: readonly string[], state: readonly string[] | null): string | null {
  const folded = components.map(fold)
  const named = folded.find(name => NAMES.has(name))
  if (named !== undefined) return named
  for (const name of folded) {
    const family = HEADS.has(name.slice(0, 2)) ? FAMILIES.find(([form]) => form.test(name)) : undefined
    if (family !== undefined) return family[1]
  }
  if (state !== null && startsWith(folded, state)) return 'the state folder of Planfold'
  for (const path of PATHS) {
    for (let at = 0; at < folded.length; at++) if (startsWith(folded.slice(at), path)) return path.join('/')
  }
  return null
}

export function fold(component: string): string {
  const folded = foldName(component)
  return folded === 'git~1' ? '.git' : folded
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length > 0 && prefix.length <= path.length && prefix.every((name, at) => path[at] === name)
}

const NAMES = new Set([
  ...['.git', '.gitmodules', '.gitattributes', '.gitconfig', '.husky', '.planfold'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile', '.login', '.logout'],
  ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.inputrc', '.envrc'],
  ...['.ssh', '.gnupg', '.netrc', '.npmrc', '.pnpmrc', '.pypirc', '.pnpmfile.cjs', '.pre-commit-config.yaml'],
  ...['.pre-commit-config.yml', '.vimrc', '.gvimrc', '.exrc', '.nvimrc', '.nvim.lua', '.dir-locals.el'],
  ...['.vscode', '.idea', '.devcontainer', '.devcontainer.json', '.zed', '.fleet', '.nova', '.sublime-project'],
  ...['.mcp.json', '.claude', '.claude.json', '.codex', '.cursor', '.cursorrules', '.gemini', '.qwen', '.opencode'],
  ...['opencode.json', 'opencode.jsonc', '.grok', '.kimi', '.cline', '.clinerules', '.roo', '.roorules', '.roomodes'],
  ...['.kilocode', '.kilocodemodes', '.aiderignore', '.continue', '.continuerules', '.windsurf', '.windsurfrules'],
  ...['.amp', '.amazonq', '.kiro', '.junie', '.goose', '.goosehints', '.crush', 'crush.json', '.crush.json', '.agents'],
  ...['.gitlab-ci.yml', '.circleci', '.travis.yml', '.drone.yml', '.buildkite', '.woodpecker', '.woodpecker.yml'],
  ...['azure-pipelines.yml', 'bitbucket-pipelines.yml', 'appveyor.yml', '.appveyor.yml', 'jenkinsfile', '.cirrus.yml'],
])
const FAMILIES: readonly (readonly [RegExp, string])[] = [
  [/^\.yarnrc(\..*)?$/, '.yarnrc*'],
  [/^\.?lefthook(-local)?\.(ya?ml|toml|jsonc?)$/, 'lefthook'],
  [/^\.lefthook/, '.lefthook*'],
  [/^\.aider/, '.aider*'],
]
const HEADS = new Set(['.y', '.l', 'le', '.a'])
const PATHS = [
  ['.github', 'workflows'],
  ['.github', 'actions'],
  ['.gitea', 'workflows'],
  ['.forgejo', 'workflows'],
  ['.config', 'git'],
  ['.yarn', 'releases'],
  ['.yarn', 'plugins'],
]
