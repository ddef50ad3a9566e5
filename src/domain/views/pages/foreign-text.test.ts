import { expect, it } from 'vitest'
import { spelled } from './foreign-text.ts'

it('runs of blanks that push a command out of sight are counted instead', () => {
  expect(spelled(`true${' '.repeat(4000)}; touch x`)).toBe('true ⟨4000 spaces⟩ ; touch x')
  expect(spelled(`true\n${'\n'.repeat(300)}touch x`)).toBe('true\n⟨300 blank lines⟩\ntouch x')
  expect(spelled('if a\n\n\n    b\n')).toBe('if a\n\n\n    b\n')
})
