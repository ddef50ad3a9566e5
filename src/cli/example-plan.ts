// The plan that `planfold init` writes: small, runs anywhere, and shows tasks, needs, a gate, a retry and an edit.

export const EXAMPLE_PLAN = `# A Planfold plan. Check it with 'planfold validate plan.yaml', run it with 'planfold run plan.yaml'.
# Stop it with Ctrl-C whenever you like, or kill it: 'planfold resume' goes on where it was.
planfold: 1
name: hello
title: A first plan
goal: A greeting lies in hello.txt, and somebody approved it

tasks:
  - id: look
    title: See where we are
    run: [uname, -s]                # a list is a command with its arguments, no shell
    effect: pure                    # only reads: after a crash it is simply run again
    outputs: { system: { stdout: text } }

  - id: greet
    needs: [look]
    edit:                           # changes to files, applied together, exactly once
      - { file: hello.txt, create: "Hello from Planfold\\n" }

  - id: count
    needs: [greet]
    run: wc -c hello.txt            # text is a script for sh -eu
    effect: pure
    timeout: 10s
    retry: { attempts: 3, backoff: 1s..5s }

  - id: review
    title: Is the greeting friendly enough?
    needs: [count]
    gate: approval                  # waits for a person: planfold approve review

  - id: tidy
    needs: [review]
    edit:
      - { file: hello.txt, delete: true }
`
