import { expect, test } from 'vitest'
import { environmentFailure, inheritedEnvironment } from './environment.ts'

const ATTACKS = [
  ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'NODE_OPTIONS', 'BASH_ENV', 'ENV', 'PYTHONSTARTUP'],
  ...['PYTHONPATH', 'PERL5OPT', 'npm_config_script_shell', 'NPM_CONFIG_PREFIX', 'EDITOR', 'PAGER', 'GIT_SSH_COMMAND'],
  ...['GIT_CONFIG_COUNT', 'GIT_DIR', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'PATH', 'PLANFOLD_OWNER', 'ld_preload'],
  ...['PLANFOLD_DIR', 'PLANFOLD_SANDBOX', 'DOTNET_STARTUP_HOOKS'],
]

test('A27, A37 a plan may not set what makes other programs run other code', () => {
  for (const name of [...ATTACKS, 'HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_DIRS']) {
    expect(environmentFailure({ [name]: 'x' }), name).toMatchObject({ class: 'policy', retryable: false })
  }
})

test('names and values that the system would cut or mistake are refused', () => {
  for (const name of ['', 'A=B', 'A B', '1A', 'Ä', 'A\0', 'A\nB', '__proto__ ', 'x'.repeat(300)]) {
    expect(environmentFailure({ [name]: 'x' }), name).toMatchObject({ class: 'policy' })
  }
  expect(environmentFailure({ A: 'a\0b' })).toMatchObject({ class: 'policy' })
  expect(environmentFailure({ A: 'x'.repeat(200_000) })).toMatchObject({ class: 'logic' })
  expect(
    environmentFailure({ NODE_ENV: 'test', PYTHONUNBUFFERED: '1', PLANFOLD_VALUE_1: 'x', _x1: '$(id)\n' }),
  ).toBeNull()
})

test('a child inherits only what is listed', () => {
  const ours = Object.fromEntries(ATTACKS.map(name => [name, '/evil']))
  expect(
    inheritedEnvironment({
      ...ours,
      PATH: '.:/usr/bin::bin:/bin',
      HOME: '/h',
      LC_ALL: 'C',
      AWS_SECRET: 's',
      TERM: 'xterm',
      TZ: undefined,
    }),
  ).toEqual({ PATH: '/usr/bin:/bin', HOME: '/h', LC_ALL: 'C', TERM: 'dumb' })
  expect(inheritedEnvironment({}).PATH).toMatch(/^\/usr\/local/)
})
