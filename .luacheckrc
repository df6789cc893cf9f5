-- For scripts/lint.sh. What Redis 7 gives to a script, and nothing of Lua's own beside it.
std = {
  read_globals = {
    'ARGV', 'KEYS', 'redis', 'bit', 'cjson', 'cmsgpack', 'struct', 'math', 'string', 'table', --
    'assert', 'error', 'ipairs', 'next', 'pairs', 'pcall', 'select', 'setmetatable', 'tonumber', 'tostring', 'type',
    'unpack',
  },
}
max_line_length = 120
-- An expanded script has names of its own that its includes have as arguments: that shadows, and harms nothing.
ignore = {'431', '432'}
