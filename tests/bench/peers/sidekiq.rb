# SPDX-License-Identifier: MIT
#
# Sidekiq's player: push_bulk, and its launcher in this process with two threads: handlers that never wait for anything
# gain nothing from more. Its fetch takes a job out of Redis for good, so a job that is handled has ended.
require "sidekiq"
require "sidekiq/launcher"

TASK_LEN = 100
DIGITS = 20
BULK = 1000
THREADS = 2
ROLE, PATH = ARGV

def now_ns = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
def task_of(number) = number.to_s.rjust(DIGITS, "0").ljust(TASK_LEN, "m")

# What the handlers, which are threads, tell the main one.
class Tally
  attr_reader :count, :sum

  def initialize(wanted)
    @wanted, @count, @sum = wanted, 0, 0
    @lock, @all = Mutex.new, ConditionVariable.new
  end

  def add(number)
    @lock.synchronize do
      @sum += number
      @all.signal if (@count += 1) == @wanted
    end
  end

  def wait = @lock.synchronize { @all.wait(@lock) until @count >= @wanted }
end

class Handler
  include Sidekiq::Worker
  sidekiq_options retry: false

  def perform(task)
    at = now_ns
    raise "a task of #{task.size} bytes" unless task.size == TASK_LEN
    number = task[0, DIGITS].to_i
    ROLE == "listen" ? puts("got #{at - number}") : $tally.add(number)
  end
end

def launcher(queue)
  options = Sidekiq.options.merge(queues: [queue], concurrency: THREADS, strict: true)
  Sidekiq::Launcher.new(options)
end

def fill(n)
  tasks = Array.new(n) { |i| [task_of(i + 1)] }
  started = now_ns
  tasks.each_slice(BULK) { |args| Sidekiq::Client.push_bulk("class" => Handler, "queue" => "fill", "args" => args) }
  puts "done #{now_ns - started}"
end

def drain(n)
  $tally = Tally.new(n)
  worker = launcher("fill")
  started = now_ns
  worker.run
  $tally.wait
  puts "done #{now_ns - started} #{$tally.count} #{$tally.sum}"
  worker.stop
end

$stdout.sync = true
Redis.silence_deprecations = true
Sidekiq.logger.level = Logger::FATAL
Sidekiq.configure_client { |config| config.redis = {path: PATH, size: THREADS + 5} }
Sidekiq.options[:timeout] = 5
if ROLE == "listen"
  launcher("send").run
  puts "ready"
end
$stdin.each_line do |order|
  verb, n = order.split
  case verb
  when "fill" then fill(n.to_i)
  when "drain" then drain(n.to_i)
  when "send"
    Sidekiq::Client.push("class" => Handler, "queue" => "send", "args" => [task_of(now_ns)])
    puts "sent"
  end
end
