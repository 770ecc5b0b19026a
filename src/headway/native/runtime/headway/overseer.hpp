// Who stands over the jobs of a run: admits them, and may change their keys before an operator.
#pragma once

#include "headway/jobs.hpp"
#include "headway/kernel.hpp"

namespace headway {

class Overseer {
 public:
  /// A job is to be queued: sets its key. False: it is not admitted, and the kernel forgets it.
  virtual bool admit(Job& job) = 0;
  /// The key of a job before its next operator; `others`: another job that has not overrun is
  /// ready. `overran` is set if the job has overrun now.
  virtual std::int64_t key_now(Job& job, bool others, bool& overran) = 0;
  /// Whether a job, or what is ordered by a key, has overrun its budget.
  virtual bool overrun(const Job& job) const = 0;
  virtual bool overrun(std::int64_t key) const = 0;
  /// What is noted of a job that goes on after others.
  virtual EventKind resumed(const Job& job) const = 0;
  /// An operator of the job is about to give out what it gives.
  virtual void works(Job& job) = 0;
  /// It has given out all it gives, and has taken so long: in virtual time what is declared.
  virtual void worked(Job& job, Nanoseconds taken) = 0;
  /// A job is done, and forgotten; this was reserved for it.
  virtual void ended(PathJob* path) = 0;

 protected:
  ~Overseer() = default;
};

}  // namespace headway
