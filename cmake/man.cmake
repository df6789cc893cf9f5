# SPDX-License-Identifier: MIT
#
# Makes the manual pages: muster_make_man(DIR) writes DIR/man1 from the tables of the command, DIR/man3 from the public
# headers, DIR/man7 from doc/keys.md, whenever one of these has changed. Nobody writes a page by hand.
#
# The pages have the date of the configuration, or that of SOURCE_DATE_EPOCH.

function(muster_make_man dir)
  set(src ${CMAKE_CURRENT_SOURCE_DIR})
  add_executable(muster-man ${src}/src/man/main.c)
  target_link_libraries(muster-man PRIVATE muster_cli)

  string(TIMESTAMP date "%Y-%m-%d" UTC)
  # In the order of libmuster(3). muster.h includes the others, export.h has no calls.
  file(GLOB others RELATIVE ${src}/include/muster CONFIGURE_DEPENDS ${src}/include/muster/*.h)
  list(REMOVE_ITEM others client.h job.h worker.h muster.h export.h)
  list(TRANSFORM others PREPEND ${src}/include/muster/)
  set(headers ${src}/include/muster/client.h ${src}/include/muster/job.h ${src}/include/muster/worker.h ${others})
  set(awk awk -v date=${date} -v version=${PROJECT_VERSION} -f ${src}/cmake/man_words.awk)
  add_custom_command(
    OUTPUT ${dir}/made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}/man1 ${dir}/man3 ${dir}/man7
    COMMAND muster-man ${dir}/man1 ${date}
    COMMAND ${awk} -v dir=${dir}/man3 -f ${src}/cmake/man_headers.awk ${headers}
    COMMAND ${awk} -f ${src}/cmake/man_keys.awk ${src}/doc/keys.md > ${dir}/man7/muster-keys.7
    COMMAND ${CMAKE_COMMAND} -E touch ${dir}/made
    DEPENDS muster-man ${headers} ${src}/doc/keys.md ${src}/cmake/man_words.awk ${src}/cmake/man_headers.awk
      ${src}/cmake/man_keys.awk
    COMMENT "Making the manual pages"
    VERBATIM)
  add_custom_target(muster_man_pages ALL DEPENDS ${dir}/made)
endfunction()
