// What no task may write even inside its scope, also when it does not exist yet: places from which code or trust starts by
// itself, in editors, shells, git, agents and build services, and Planfold's own state. Compared folded, because some
// file systems take `.GIT`, `.g\u200cit` or `git~1` for `.git`.

/** The rule a path runs into, or null. `state` is the folded path of the state folder inside the workspace, if it is there. */
export function protectedBy(components: readonly string[], state: readonly string[] | null): string | null {
  const folded = components.map(fold)
  const named = folded.find(name => NAMES.has(name))
  if (named !== undefined) return named
  if (state !== null && startsWith(folded, state)) return 'the state folder of Planfold'
  for (const path of PATHS) {
    for (let at = 0; at < folded.length; at++) if (startsWith(folded.slice(at), path)) return path.join('/')
  }
  return null
}

/** One component in the form in which careless file systems compare it. Folding too much only protects too much. */
export function fold(component: string): string {
  const folded = component
    .normalize('NFC')
    .replace(/\p{Default_Ignorable_Code_Point}|\p{Cf}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC')
    .replace(/[. ]+$/u, '')
  return folded === 'git~1' ? '.git' : folded
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length > 0 && prefix.length <= path.length && prefix.every((name, at) => path[at] === name)
}

const NAMES = new Set([
  ...['.git', '.gitmodules', '.gitattributes', '.gitconfig', '.husky', '.planfold'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile', '.login', '.logout'],
  ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.inputrc', '.envrc'],
  ...['.vscode', '.idea', '.devcontainer', '.mcp.json', '.claude', '.codex', '.cursor', '.cursorrules'],
  ...['.gitlab-ci.yml', '.circleci', '.travis.yml', '.drone.yml', '.buildkite', '.woodpecker', '.woodpecker.yml'],
  ...['azure-pipelines.yml', 'bitbucket-pipelines.yml', 'appveyor.yml', '.appveyor.yml', 'jenkinsfile'],
])
const PATHS = [
  ['.github', 'workflows'],
  ['.github', 'actions'],
  ['.gitea', 'workflows'],
  ['.forgejo', 'workflows'],
]
