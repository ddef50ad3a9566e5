// The environment of a child process: an allow list of inherited variables, and what a plan adds. Variables that make other programs load
// code, change their configuration or use a proxy are never inherited, and a plan may not set them, nor those that locate settings and
// logins, nor Planfold's own.

import { wordList } from '../domain/json.ts'
import type { Failure } from '../domain/result.ts'
import { failure } from './safety-refusal.ts'

export interface Variables {
  readonly [name: string]: string | undefined
}

export const VALUE_MAX_BYTES = 96 * 1024
const PATH_DEFAULT = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** TERM is always `dumb`, because there is no terminal. */
export function inheritedEnvironment(ours: Variables): { readonly [name: string]: string } {
  const kept: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(ours)) {
    if (value !== undefined && (INHERITED.has(name) || name.startsWith('LC_'))) kept[name] = value
  }
  // With a relative entry the working directory would choose the program.
  const path = (kept.PATH ?? '').split(':').filter(entry => entry.startsWith('/'))
  kept.PATH = path.length > 0 ? path.join(':') : PATH_DEFAULT
  kept.TERM = 'dumb'
  return kept
}

/** For a command with the person's permissions: adds the variables that locate their keys and tools, but none that is itself a secret. */
export function personalEnvironment(ours: Variables): { readonly [name: string]: string } {
  const pointers = Object.entries(ours).filter(
    ([name, value]) => value !== undefined && (POINTERS.has(name) || PROXIES.has(name.toUpperCase())),
  )
  return { ...inheritedEnvironment(ours), ...(Object.fromEntries(pointers) as { [name: string]: string }) }
}

export function environmentFailure(wanted: { readonly [name: string]: string }): Failure | null {
  for (const [name, value] of Object.entries(wanted)) {
    const shown = JSON.stringify(name.slice(0, 100))
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,254}$/.test(name)) {
      return failure('policy', `${shown} is not a valid name for an environment variable`, 'use letters, digits and _')
    }
    const fault = VALUE_OF_SCRIPT.test(name) ? null : variableFault(name)
    if (fault !== null) {
      const hint = 'use another name, or set it inside a script, where the gate shows it'
      return failure('policy', `a plan may not set the environment variable ${shown}, which ${fault}`, hint)
    }
    if (value.includes('\0')) {
      return failure('policy', `the value of ${shown} contains a NUL byte`, 'pass binary values through a file')
    }
    if (Buffer.byteLength(value) > VALUE_MAX_BYTES) {
      const hint = 'pass large values through a file'
      return failure('logic', `the value of ${shown} is longer than ${VALUE_MAX_BYTES} bytes`, hint)
    }
  }
  return null
}

/** Why a plan may not set this variable, as the end of a sentence; null when it may. */
export function variableFault(name: string): string | null {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,254}$/.test(name)) return 'is not a valid name for an environment variable'
  if (OURS.test(name)) return 'Planfold uses itself'
  if (/^(?:HOME$|XDG_)/i.test(name)) return 'changes where programs look for settings and logins'
  return isDangerous(name) ? 'changes which code other programs run' : null
}

/** Why a secret may not have this name; null when it may. It becomes a variable, so HOME would replace HOME. */
export function secretNameFault(name: string): string | null {
  const upper = name.toUpperCase()
  const isOrdinary = INHERITED.has(upper) || ORDINARY.has(upper) || upper.startsWith('LC_')
  return isOrdinary ? 'programs need for something else' : variableFault(upper)
}

/** Set for every child, about its task and for Planfold itself. Not those of the rounds of `converge`. */
const OURS = /^(?:PLANFOLD_(?!(?:CRITERION|EVIDENCE|INPUT|ROUND)$)|TRACEPARENT$)/i
/** How the engine passes values to scripts; the format refuses the name in a plan. */
const VALUE_OF_SCRIPT = /^PLANFOLD_VALUE_\d+$/

/** Can this variable change what code runs or where its traffic goes? Case-insensitive. */
function isDangerous(name: string): boolean {
  const upper = name.toUpperCase()
  if (HARMLESS.has(upper)) return false
  return DANGEROUS.has(upper) || PREFIXES.some(prefix => upper.startsWith(prefix)) || upper.endsWith('_PROXY')
}

const INHERITED = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP', 'CI'],
  // It only makes git search fewer folders.
  'GIT_CEILING_DIRECTORIES',
  ...['XDG_CACHE_HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'],
  ...['JAVA_HOME', 'GOPATH', 'GOROOT', 'CARGO_HOME', 'RUSTUP_HOME', 'NVM_DIR', 'PNPM_HOME', 'VIRTUAL_ENV'],
])
const POINTERS = new Set([
  ...['SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'GNUPGHOME', 'DBUS_SESSION_BUS_ADDRESS', 'KUBECONFIG', 'AWS_PROFILE'],
  ...['AWS_REGION', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'GOOGLE_APPLICATION_CREDENTIALS'],
])
const PROXIES = new Set(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'FTP_PROXY'])
const ORDINARY = new Set(['TERM', 'PWD', 'OLDPWD', 'HOSTNAME', 'SHLVL', 'DISPLAY', '_'])
const PREFIXES = ['LD_', 'DYLD_', 'GIT_', 'PYTHON', 'NPM_CONFIG_', 'BASH_FUNC_', 'YARN_', 'BUNDLE_', '_RLD', 'PIP_']
const HARMLESS: ReadonlySet<string> = new Set(
  wordList('PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8'),
)
const DANGEROUS: ReadonlySet<string> = new Set([
  ...wordList('PATH NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED'),
  ...wordList('BASH_ENV ENV SHELLOPTS BASHOPTS IFS PS4 PROMPT_COMMAND CDPATH ZDOTDIR FPATH SHELL'),
  ...wordList('PERL5OPT PERL5LIB PERL5DB PERLLIB RUBYOPT RUBYLIB LUA_INIT PHPRC PHP_INI_SCAN_DIR'),
  ...wordList('JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS MAVEN_OPTS GRADLE_OPTS CLASSPATH'),
  ...wordList('EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS'),
  ...wordList('MAKEFLAGS MAKEFILES RUSTC_WRAPPER GOFLAGS GCONV_PATH GLIBC_TUNABLES LOCPATH HOSTALIASES'),
  ...wordList('OPENSSL_CONF OPENSSL_MODULES SSL_CERT_FILE SSL_CERT_DIR SSLKEYLOGFILE PROXY'),
  ...wordList('TAR_OPTIONS CARGO_BUILD_RUSTC_WRAPPER BUN_OPTIONS CMAKE_TOOLCHAIN_FILE VIMINIT EXINIT'),
  ...wordList('OPENSSL_ENGINES'),
  ...wordList('DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS CORECLR_PROFILER_PATH COR_PROFILER_PATH'),
])

/** Who runs this process instead of the user, according to its environment. */
export function programBehind(environment: Variables): 'a task' | 'a coding agent' | null {
  if (environment.PLANFOLD_KEY !== undefined || environment.PLANFOLD_OWNER !== undefined) return 'a task'
  return AGENT_VARIABLES.some(name => (environment[name] ?? '') !== '') ? 'a coding agent' : null
}

/** Set by coding agents for their commands. A malicious agent can remove them; only the sandbox stops that. */
const AGENT_VARIABLES = ['CLAUDECODE', 'CODEX_SANDBOX', 'CURSOR_AGENT', 'GEMINI_CLI', 'OPENCODE', 'AI_AGENT']
