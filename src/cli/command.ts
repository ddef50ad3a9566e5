// What every command works with: the context it is given, how it answers, and how it ends.

export * from './answer.ts'
export * from './context.ts'
export * from './exit.ts'
