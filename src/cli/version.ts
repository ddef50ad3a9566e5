// The version of this program, as `--version` prints it; a test holds it against package.json.

export const VERSION = '0.1.0'
