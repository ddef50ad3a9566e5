import { describe, expect, it } from 'vitest'
import { cpuMs } from '../cpu-time.fixture.ts'
import { classify, classOfHttp, type Ending, readRetryAfter } from './classify-failure.ts'

const NOW = Date.parse('2026-01-02T03:04:05Z')

const ended = (more: Partial<Ending>): Ending => ({
  exit: 1,
  signal: null,
  timedOut: false,
  stdout: '',
  stderr: '',
  ...more,
})
const kindOf = (more: Partial<Ending>): string => {
  const { class: kind, code } = classify(ended(more), NOW)
  return `${kind} ${code}`
}

describe('the kind of a failure', () => {
  it('is told by exit codes that mean the same everywhere', () => {
    const kinds = Object.fromEntries(
      [1, 2, 64, 69, 71, 75, 77, 124, 126, 127, 137, 143].map(exit => [exit, kindOf({ exit })]),
    )
    expect(kinds).toEqual({
      1: 'logic exit:1',
      2: 'logic exit:2',
      64: 'logic exit:64',
      69: 'transient exit:69',
      71: 'resource exit:71',
      75: 'transient exit:75',
      77: 'policy exit:77',
      124: 'transient exit:124',
      126: 'logic exit:126',
      127: 'logic exit:127',
      137: 'resource exit:137',
      143: 'transient exit:143',
    })
  })

  it('does not let a retry look again for a command that is not there', () => {
    for (const exit of [126, 127]) expect(classify(ended({ exit }), NOW).retryable).toBe(false)
    for (const exit of [1, 2, 75, 77, 137]) expect(classify(ended({ exit }), NOW).retryable).toBe(true)
  })

  it('is told by signals and timeouts', () => {
    expect(kindOf({ exit: null, signal: 'SIGKILL' })).toBe('resource signal:SIGKILL')
    expect(kindOf({ exit: null, signal: 'SIGTERM' })).toBe('transient signal:SIGTERM')
    expect(kindOf({ exit: null, signal: 'SIGSEGV' })).toBe('transient signal:SIGSEGV')
    expect(kindOf({ exit: null, signal: null })).toBe('transient signal:unknown')
    expect(kindOf({ exit: null, signal: 'SIGKILL', timedOut: true })).toBe('transient timeout')
    const heap = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n'
    expect(kindOf({ exit: null, signal: 'SIGABRT', stderr: heap })).toBe('resource signal:SIGABRT')
  })

  /** The last lines of real tools. */
  const TOLD: readonly (readonly [string, string])[] = [
    ['curl: (22) The requested URL returned error: 503', 'transient http:503'],
    ['curl: (7) Failed to connect to localhost port 9 after 0 ms: Couldn’t connect to server', 'transient curl'],
    ['curl: (28) Operation timed out after 5001 milliseconds with 0 bytes received', 'transient curl'],
    ["fatal: unable to access 'https://example.com/x.git/': The requested URL returned error: 403", 'policy http:403'],
    [
      "fatal: unable to access 'https://nowhere.invalid/': Could not resolve host: nowhere.invalid",
      'transient name-resolution',
    ],
    ['2026-01-01 10:00:00 ERROR 404: Not Found.', 'logic http:404'],
    ['gh: Not Found (HTTP 404)', 'logic http:404'],
    ['HTTP 401: Bad credentials (https://api.github.com/graphql)', 'policy http:401'],
    ['npm error code E429', 'transient http:429'],
    ['npm ERR! code EACCES', 'policy errno:EACCES'],
    ['npm error code ENOSPC\nnpm error syscall write', 'resource errno:ENOSPC'],
    [
      'requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://example.com/',
      'transient http:429',
    ],
    ['urllib.error.HTTPError: HTTP Error 502: Bad Gateway', 'transient http:502'],
    ['AxiosError: Request failed with status code 408', 'transient http:408'],
    ['Error response from daemon: received unexpected HTTP status: 504 Gateway Timeout', 'transient http:504'],
    ['toomanyrequests: You have reached your pull rate limit.', 'transient http:429'],
    ['< HTTP/2 429', 'transient http:429'],
    ['HTTP/1.1 403 Forbidden', 'policy http:403'],
    ['HTTP/1.1 200 OK', 'logic exit:1'],
    ['Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect', 'transient errno:ECONNREFUSED'],
    ['Error: getaddrinfo EAI_AGAIN packages.example.com', 'transient errno:EAI_AGAIN'],
    ["  errno: -104,\n  code: 'ECONNRESET',\n  syscall: 'read'\n}", 'transient errno:ECONNRESET'],
    ["Error: EMFILE: too many open files, open 'x'", 'resource errno:EMFILE'],
    ['tar: x: Cannot write: No space left on device', 'resource errno:ENOSPC'],
    ['OSError: [Errno 28] No space left on device', 'resource errno:ENOSPC'],
    ['bash: fork: Cannot allocate memory', 'resource errno:ENOMEM'],
    ['cp: cannot create regular file ‘/etc/x’: Permission denied', 'policy errno:EACCES'],
    ['git@example.com: Permission denied (publickey).', 'policy errno:EACCES'],
    ['ssh: connect to host example.com port 22: Connection refused', 'transient errno:ECONNREFUSED'],
    ['chown: changing ownership of ‘x’: Operation not permitted', 'policy errno:EPERM'],
    ['Exception in thread "main" java.lang.OutOfMemoryError: Java heap space', 'resource out-of-memory'],
    ['MemoryError', 'resource out-of-memory'],
    ['An error occurred (ThrottlingException) when calling the Invoke operation: Rate exceeded', 'transient throttled'],
    ['An error occurred (AccessDenied) when calling the PutObject operation: Access Denied', 'policy access-denied'],
    ['Error from server (Forbidden): pods is forbidden: User "x" cannot list', 'policy api-server'],
  ]

  it('is told by what real tools say last', () => {
    for (const [stderr, kind] of TOLD) expect([stderr, kindOf({ stderr: `${stderr}\n` })]).toEqual([stderr, kind])
  })

  it('is not told by words that may mean anything', () => {
    const lines = [
      'AssertionError: expected status 503 to equal 200',
      '✗ retries on ECONNREFUSED (12 ms)',
      'expected "Permission denied" to be shown',
      '429 tests passed, 1 failed',
      'see https://example.com/errors/429',
      'tests/http_503_test.py::test_gateway FAILED',
      'warning: the disk is nearly full',
      'handles ENOSPC: yes',
    ]
    for (const stderr of lines) expect([stderr, kindOf({ stderr })]).toEqual([stderr, 'logic exit:1'])
  })

  it('is told by the last lines only, and by stdout when stderr is empty', () => {
    const early = `curl: (22) The requested URL returned error: 503\n${'ok\n'.repeat(30)}`
    expect(kindOf({ stderr: early })).toBe('logic exit:1')
    expect(kindOf({ stdout: 'npm error code E503\n' })).toBe('transient http:503')
    expect(kindOf({ stdout: 'npm error code E503\n', stderr: 'it broke\n' })).toBe('logic exit:1')
  })

  it('costs little on large and strange output', () => {
    const reading = () => {
      for (const line of ['a'.repeat(1e6), `${'('.repeat(1e5)}\n`.repeat(10), 'HTTPError: '.repeat(1e5)])
        classify(ended({ stderr: line }), NOW)
    }
    expect(cpuMs(reading, 500)).toBeLessThan(500)
  })
})

describe('how long to wait', () => {
  it('is what a server asked for, in seconds or as a date, and at most an hour', () => {
    expect(readRetryAfter('30', NOW)).toBe(30_000)
    expect(readRetryAfter('1.5', NOW)).toBe(1_500)
    expect(readRetryAfter('Fri, 02 Jan 2026 03:05:05 GMT', NOW)).toBe(60_000)
    expect(readRetryAfter('Fri, 02 Jan 2026 03:00:00 GMT', NOW)).toBe(0)
    expect(readRetryAfter('999999999', NOW)).toBe(3_600_000)
    expect(readRetryAfter('soon', NOW)).toBeNull()
    expect(readRetryAfter('-1', NOW)).toBeNull()
    expect(readRetryAfter('2026-01-03', NOW)).toBeNull()
  })

  it('is found in headers and bodies, of failures that pass', () => {
    const said = (stderr: string, exit = 1) => classify(ended({ stderr, exit }), NOW).retryAfterMs
    expect(said('< HTTP/1.1 429 Too Many Requests\n< Retry-After: 12\n')).toBe(12_000)
    expect(said('HTTP/1.1 503 Service Unavailable\nretry-after: Fri, 02 Jan 2026 03:05:05 GMT\n')).toBe(60_000)
    expect(said('  "retry_after": 3,\nAxiosError: Request failed with status code 429\n')).toBe(3_000)
    expect(said('Retry-After: 9\n', 75)).toBe(9_000)
    expect(said('HTTP/1.1 403 Forbidden\nRetry-After: 12\n')).toBeUndefined()
    expect(said('it says: Retry-After: 12 is fine\n', 75)).toBeUndefined()
  })
})

it('answers of servers have a class of their own', () => {
  expect([200, 302, 400, 401, 404, 408, 425, 429, 500, 502, 507, 600].map(classOfHttp)).toEqual([
    ...[
      null,
      null,
      'logic',
      'policy',
      'logic',
      'transient',
      'transient',
      'transient',
      'logic',
      'transient',
      'resource',
    ],
    null,
  ])
})
